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

const bundle = await rolldown({
  input: {
    main: join(BUILT, 'grantline.js'),
    preparation: join(BUILT, 'acl-sync/infrastructure/preparation.js'),
  },
  platform: 'node',
  // The first three start threads from files of their own; TypeORM loads pg by its name, and Nest the others, of which a second copy would
  // have metadata of its own.
  external: ['pino', 'pino-pretty', 'piscina', 'pg', 'typeorm', 'class-validator', 'class-transformer'],
  plugins: [origins],
  checks: { unresolvedImport: false }, // peers that are not installed; tsc has checked ours
});
rmSync(join(BUILT, 'bundled'), { recursive: true, force: true });
await bundle.write({
  dir: BUILT,
  chunkFileNames: 'bundled/[name].js',
  keepNames: true, // of classes: the API's document has them
  comments: { legal: true, annotation: false, jsdoc: false },
});
