import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where `npm run build` puts the browser's files. */
const FOLDER = fileURLToPath(new URL('../../../dist/console/browser', import.meta.url));

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file in memory, with what the build has compressed of it. */
export interface BuiltFile {
  type: string;
  plain: Buffer;
  br: Buffer | null;
  gzip: Buffer | null;
}

/** The page, and the files it loads by their names. @throws Error where nothing was built */
export function readBuiltFiles(): { page: BuiltFile; assets: ReadonlyMap<string, BuiltFile> } {
  const page = join(FOLDER, 'index.html');
  if (!existsSync(page)) throw new Error(`${page} is missing: npm run build makes it`);
  const names = readdirSync(join(FOLDER, 'assets')).filter((name) => extname(name) in TYPES);
  const assets = names.map((name) => [name, readFile(join(FOLDER, 'assets', name))] as const);
  return { page: readFile(page), assets: new Map(assets) };
}

function readFile(path: string): BuiltFile {
  const compressed = (end: string): Buffer | null => (existsSync(path + end) ? readFileSync(path + end) : null);
  return {
    type: TYPES[extname(path)] ?? '',
    plain: readFileSync(path),
    br: compressed('.br'),
    gzip: compressed('.gz'),
  };
}
