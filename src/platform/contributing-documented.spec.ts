import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The files that a row names: one with its path, those behind it in the same module or room. */
function filesOf(row: string): string[] {
  const [first = '', ...others] = [...row.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, file = '']) => file);
  const rooms = [dirname(first), dirname(dirname(first))];
  const found = (file: string): string =>
    file.startsWith('src/') ? file : (rooms.map((room) => join(room, file)).find(existsSync) ?? file);
  return [first, ...others.map(found)];
}

describe('CONTRIBUTING.md', () => {
  const [, table = ''] = /## Where is it\?\n([^#]+)##/.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? [];
  const rows = table.split('\n').filter((line) => line.includes('`src/'));

  const [, changes = ''] = /## What changes together\n([^#]+)##/.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? [];
  const files = [...changes.matchAll(/`((?:src|test|docs|helm)\/[\w/.-]+\.\w+)`/g)].map(([, file = '']) => file);

  it('has ten questions at least', () => expect(rows.length).toBeGreaterThanOrEqual(10));

  it.each([...new Set(files)])('names a file that exists: %s', (file) => expect(existsSync(file)).toBe(true));

  it.each(rows)('leads to files that exist: %s', (row) => {
    expect(filesOf(row).filter((file) => !existsSync(file))).toEqual([]);
  });

  const named = rows.flatMap((row) => [...row.matchAll(/`(src[\w/.-]+\.ts)` \(`(\w+)`\)/g)]);

  it.each(named.map(([, file = '', name = '']) => ({ file, name })))(
    '$name is a function of $file',
    ({ file, name }) => {
      expect(readFileSync(file, 'utf8')).toContain(`export function ${name}(`);
    },
  );
});
