import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'dist/console/browser';
const KIB = 1024;

interface Lockfile {
  packages: Record<string, { dev?: boolean; optional?: boolean }>;
}

/** The bytes of files as browsers load them, in gzip. */
function bytesOf(names: readonly string[]): number {
  return names.reduce((bytes, name) => bytes + readFileSync(join(FOLDER, `${name}.gz`)).length, 0);
}

describe('what browsers load of the web console', () => {
  const page = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  const atFirst = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, path = '']) => path);
  const later = readdirSync(join(FOLDER, 'assets'))
    .filter((name) => name.endsWith('.js'))
    .map((name) => `assets/${name}`)
    .filter((path) => !atFirst.includes(path));
  const ofSql = later.filter((path) => path.startsWith('assets/sql-editor-'));

  it('is at most 130 KiB at first, the icon and the styles included, and the styles at most 8', () => {
    const styles = atFirst.filter((path) => path.endsWith('.css'));
    expect(styles).toHaveLength(1);
    expect(bytesOf(['index.html', ...atFirst])).toBeLessThanOrEqual(130 * KIB);
    expect(bytesOf(styles)).toBeLessThanOrEqual(8 * KIB);
  });

  it('is at most 115 KiB more for the editor', () => {
    expect(ofSql).toHaveLength(1);
    expect(bytesOf(ofSql)).toBeLessThanOrEqual(115 * KIB);
  });
});

describe('what is installed to run the service', () => {
  it('has neither a browser, nor a bundler, nor what the pages are made of', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lockfile;
    const installed = Object.entries(packages).flatMap(([path, { dev }]) => (dev === true ? [] : [path]));
    expect(installed.length).toBeGreaterThan(100);
    const ofPages = /(^|\/)(@?playwright|@sparticuz|vite|rolldown|esbuild|react|wouter|@codemirror|@lezer|axe-core)\b/;
    expect(installed.filter((path) => ofPages.test(path.replace(/^.*node_modules\//, '')))).toEqual([]);
  });
});
