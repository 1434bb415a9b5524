import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

describe('ARCHITECTURE.md', () => {
  it('has a budget of lines for each module, which none passes', () => {
    const rows = readFileSync('ARCHITECTURE.md', 'utf8').matchAll(/^\| `(\S+?)\/?` +\| +([\d,]+) +\|$/gm);
    const budgets = new Map([...rows].map(([, name = '', lines = '']) => [name, Number(lines.replace(',', ''))]));
    const modules = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const sizes = Object.fromEntries(modules.map(({ name }) => [name, linesBelow(join('src', name))]));

    expect([...budgets.keys()].sort()).toEqual(Object.keys(sizes).sort());
    expect(Object.entries(sizes).filter(([name, lines]) => lines > (budgets.get(name) ?? 0))).toEqual([]);
  });

  it('leads to a README of the access rules that names their rooms', () => {
    const readme = readFileSync('src/trino-rules/README.md', 'utf8');
    const rooms = readdirSync('src/trino-rules', { withFileTypes: true }).filter((entry) => entry.isDirectory());

    expect([...readme.matchAll(/^\| `(\w+)`/gm)].map(([, room]) => room).sort()).toEqual(rooms.map(({ name }) => name));
  });
});

/** Lines of TypeScript, without specs and generated types. */
function linesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !/\.(spec|d)\.ts$/.test(file))
    .reduce((sum, file) => sum + readFileSync(join(folder, file), 'utf8').split('\n').length - 1, 0);
}
