import { readFileSync } from 'node:fs';
import { EXPLAINED_PRIVILEGES } from './explain-question.js';

it('docs/explain.md has a row for exactly what can be asked', () => {
  const [, table = ''] = /\n(\| `--privilege`[^]*?)\n\n/.exec(readFileSync('docs/explain.md', 'utf8')) ?? [];
  const asked = table
    .split('\n')
    .slice(2)
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(asked.sort()).toEqual([...EXPLAINED_PRIVILEGES].sort());
});
