import { existsSync, readFileSync } from 'node:fs';

describe('the assurances of docs/attacks.md', () => {
  const named = [...readFileSync('docs/attacks.md', 'utf8').matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(
    ([, path = '']) => path,
  );

  it('name tests that exist', () => {
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });
});
