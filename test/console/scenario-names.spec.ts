import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const RECORD = /records\.(?:person|administrator|group)\('([^']*)'/g;

/** Which scenarios share a service is not known before they run. */
describe('the scenarios of the console', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.page-spec.ts'));
  const texts = files.map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'));

  it('make people and groups of their own', () => {
    const names = texts.flatMap((text) => [...text.matchAll(RECORD)].map(([, name]) => name));

    expect(names.length).toBeGreaterThan(files.length);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('give nothing to everyone, among whom are the people of others', () => {
    expect(files.filter((_, at) => /records\.grant\(\s*\{ type: 'everyone'/.test(texts[at] ?? ''))).toEqual([]);
  });
});
