import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const RECORD = /records\.(?:person|administrator|group)\('([^']*)'/g;

describe('the scenarios of the console', () => {
  it('make people and groups of their own: which of them share a service is not known before they run', () => {
    const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.page-spec.ts'));
    const names = files.flatMap((file) =>
      [...readFileSync(join(import.meta.dirname, file), 'utf8').matchAll(RECORD)].map(([, name]) => name),
    );

    expect(names.length).toBeGreaterThan(files.length);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });
});
