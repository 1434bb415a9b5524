import { readdirSync, readFileSync } from 'node:fs';

describe('docs/decisions/README.md', () => {
  it('leads to every record once', () => {
    const records = readdirSync('docs/decisions').filter((file) => /^\d{4}-/.test(file));
    const linked = [...readFileSync('docs/decisions/README.md', 'utf8').matchAll(/\]\((\d{4}-[^)]+)\)/g)];

    expect(linked.map(([, file]) => file).sort()).toEqual(records.sort());
  });
});
