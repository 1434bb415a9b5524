// Makes dist: the console's pages by vite, and beside them the code by tsc and bundle.js. Not again of the same files.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = import.meta.dirname;
/** What dist follows from. */
const SOURCES = [
  'build.js',
  'bundle.js',
  'package-lock.json',
  'package.json',
  'src',
  'tsconfig.build.json',
  'tsconfig.json',
];

/**
 * Of names and contents, and of Node, by which pages are compressed. Declarations of types change nothing that is built.
 * @param {string} root
 */
export function digestOfSources(root) {
  const digest = createHash('sha256').update(process.version);
  const below = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).map((name) => join('src', name));
  for (const name of [...SOURCES, ...below].sort()) {
    if (name.endsWith('.d.ts') || !statSync(join(root, name)).isFile()) continue;
    digest.update(`\0${name}\0`).update(readFileSync(join(root, name)));
  }
  return digest.digest('hex');
}

/** @param {string[]} args */
async function node(...args) {
  const [code] = await once(spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }), 'exit');
  if (code !== 0) process.exitCode = 1;
  return code === 0;
}

const pages = () => node('node_modules/vite/bin/vite.js', 'build', '--config', 'src/console/browser/vite.config.ts');
/** The one program in AssemblyScript (record 0063), with the memory that `wasm-row-loop.ts` divides. */
const ROW_LOOP =
  'src/query-engine/row-loop/writing.ts src/query-engine/row-loop/finding.ts --outFile dist/row-loop.wasm -O3 --enable simd --runtime stub --noAssert --initialMemory 16';
const rowLoop = () => node('node_modules/assemblyscript/bin/asc.js', ...ROW_LOOP.split(' '));
const code = async () =>
  (await node('node_modules/typescript/bin/tsc', '--project', 'tsconfig.build.json')) && (await node('bundle.js'));

async function build() {
  const note = join(ROOT, 'dist', '.built');
  const digest = digestOfSources(ROOT);
  if (existsSync(note) && readFileSync(note, 'utf8') === digest) return;
  rmSync(note, { force: true });
  process.stderr.write('Building dist, in about half a minute\n');
  const built = await Promise.all([pages(), rowLoop(), code()]);
  if (built.includes(false)) return;
  // npm makes the command executable when it links the folder for the first time, and keeps the link.
  chmodSync(join(ROOT, 'dist', 'main.js'), 0o755);
  writeFileSync(note, digest);
}

if (process.argv[1] === import.meta.filename) await build();
