// Makes dist: the console's pages by vite, the code by tsc and bundle.js. Each again only where its sources have changed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';

const ROOT = import.meta.dirname;
const PAGES = 'src/console/browser';
/** What pages load: vite.config.ts refuses anything else of src. */
export const PAGES_SOURCES = [
  PAGES,
  'src/audit/domain',
  'src/kernel',
  'src/trino-rules/document',
  'src/trino-rules/model',
];
const TOOLS = ['build.js', 'package-lock.json', 'package.json'];

/** @param {string[]} args */
async function node(...args) {
  const [code] = await once(spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }), 'exit');
  return code === 0;
}

/** The one program in AssemblyScript (record 0063), with the memory that `row-loop.ts` divides. */
const ROW_LOOP =
  'src/query-engine/row-loop/writing.ts src/query-engine/row-loop/finding.ts --outFile dist/row-loop.wasm -O3 --enable simd --runtime stub --noAssert --initialMemory 16';

/** For OPA, read by the code. */
const POLICY = 'src/trino-rules/opa/policy';

const PARTS = {
  pages: {
    sources: [...TOOLS, ...PAGES_SOURCES],
    make: () =>
      node('node_modules/vite/bin/vite.js', 'build', '--logLevel', 'error', '--config', `${PAGES}/vite.config.ts`),
  },
  code: {
    sources: [...TOOLS, 'bundle.js', 'src', 'tsconfig.build.json', 'tsconfig.json'],
    except: PAGES,
    make: async () => {
      const rowLoop = node('node_modules/assemblyscript/bin/asc.js', ...ROW_LOOP.split(' '));
      const compiled = await node('node_modules/typescript/bin/tsc', '--project', 'tsconfig.build.json');
      cpSync(join(ROOT, POLICY), join(ROOT, POLICY.replace('src', 'dist')), { recursive: true });
      return compiled && (await node('bundle.js')) && (await rowLoop);
    },
  },
};

/**
 * Of names and contents, and of Node, by which pages are compressed. Specs and declarations of types change nothing that is built.
 * @param {string} root
 * @param {keyof typeof PARTS} part
 */
export function digestOfSources(root, part) {
  const { sources, except } = { except: undefined, ...PARTS[part] };
  const digest = createHash('sha256').update(process.version);
  const names = sources.flatMap((name) =>
    statSync(join(root, name)).isFile()
      ? [name]
      : readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((below) => join(name, below)),
  );
  for (const name of names.sort()) {
    if (/\.(d|spec)\.ts$/.test(name) || (except && name.startsWith(join(except, sep)))) continue;
    if (statSync(join(root, name)).isFile()) digest.update(`\0${name}\0`).update(readFileSync(join(root, name)));
  }
  return digest.digest('hex');
}

/** @param {keyof typeof PARTS} part */
async function build(part) {
  const note = join(ROOT, 'dist', `.built-${part}`);
  const digest = digestOfSources(ROOT, part);
  if (existsSync(note) && readFileSync(note, 'utf8') === digest) return;
  rmSync(note, { force: true });
  process.stderr.write(`Building dist: ${part}, in about half a minute\n`);
  if (await PARTS[part].make()) writeFileSync(note, digest);
  else process.exitCode = 1;
}

if (process.argv[1] === import.meta.filename) {
  await Promise.all([build('pages'), build('code')]);
}
