// The executable and the process that prepares rules, with the packages they load, in few files (record 0056). After tsc.
import { rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';

const BUILT = join(import.meta.dirname, 'dist');
const ORIGIN = '__built__';

/** Modules of ours find files by where tsc has put them, not by where the bundle has them. */
const origins = {
  name: 'origins',
  transform: (code, id) =>
    id.startsWith(BUILT)
      ? code.replaceAll('import.meta.url', `new URL('${ORIGIN}/${relative(BUILT, id)}', import.meta.url).href`)
      : null,
  renderChunk: (code, { fileName }) => code.replaceAll(ORIGIN, relative(dirname(fileName), '.') || '.'),
};

/**
 * These find a package by a `require` of their own, which loads it once more from node_modules: all of TypeORM, for what it no longer has,
 * and all of class-validator and class-transformer, whose metadata would be those of the second.
 */
const onceLoaded = {
  name: 'once-loaded',
  transform: (code, id) =>
    /@nestjs\/(typeorm\/dist\/common\/typeorm-compat|mapped-types\/dist\/type-helpers\.utils)\.js$/.test(id)
      ? code.replace('const require = createRequire(import.meta.url);', '')
      : null,
};

/** V8 compiles a function in parentheses at once, and reads any other twice; an arrow function it takes for one of those. */
const compiledAtOnce = {
  name: 'compiled-at-once',
  renderChunk: (code) => code.replaceAll(/(?<=__commonJSMin\()\(\((.*?)\) => \{/g, '(function($1) {'),
};

const bundle = await rolldown({
  input: {
    main: join(BUILT, 'grantline.js'),
    preparation: join(BUILT, 'acl-sync/infrastructure/preparation.js'),
  },
  platform: 'node',
  // The first three start threads from files of their own; TypeORM loads the last by its name.
  external: ['pino', 'pino-pretty', 'piscina', 'pg'],
  plugins: [origins, onceLoaded, compiledAtOnce],
  checks: { unresolvedImport: false }, // peers that are not installed; tsc has checked ours
});
rmSync(join(BUILT, 'bundled'), { recursive: true, force: true });
await bundle.write({
  dir: BUILT,
  chunkFileNames: 'bundled/[name].js',
  keepNames: true, // of classes: the API's document has them
  comments: { legal: true, annotation: false, jsdoc: false },
});
