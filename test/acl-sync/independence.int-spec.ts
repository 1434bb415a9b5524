import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** What a fault would be made in on both sides at once. */
describe('the compiler and the proof', () => {
  it('run no line of code together, the reading of types left out', () => {
    const [compiler, proof] = [['compile'], ['engine', 'diff', 'lint', 'verify']].map((rooms) =>
      reachable(rooms.map((room) => join('dist/trino-rules', room))),
    );

    expect(compiler?.size).toBeGreaterThan(15);
    expect(proof?.size).toBeGreaterThan(15);
    expect([...(compiler ?? [])].filter((file) => proof?.has(file))).toEqual([]);
  });

  it('share no more than the table of operations, about bundles', () => {
    const [maker, proof] = ['opa', 'verify'].map((room) => reachable([join('dist/trino-rules', room)]));

    expect(maker?.size).toBeGreaterThan(7);
    expect([...(maker ?? [])].filter((file) => proof?.has(file))).toEqual([
      resolve('dist/trino-rules/document/opa-operations.js'),
    ]);
  });
});

/** All built files that those of some folders load, one after the other. */
function reachable(folders: readonly string[]): Set<string> {
  const found = new Set<string>();
  // Named after the sources: a build leaves behind what an earlier one made of files that are gone.
  const waiting = folders.flatMap((folder) =>
    readdirSync(folder.replace('dist', 'src'))
      .filter((name) => /^[\w-]+\.ts$/.test(name))
      .map((name) => resolve(folder, name.replace(/ts$/, 'js'))),
  );
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from|import) ?\(?'(\.[^']+)'/g))
      if (path !== undefined) waiting.push(resolve(file, '..', path));
  }
  return found;
}
