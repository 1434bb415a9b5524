import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { digestOfSources } from '../../build.js';

const FILES = ['build.js', 'bundle.js', 'package-lock.json', 'package.json', 'tsconfig.build.json', 'tsconfig.json'];

describe('a build is made again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantline-build-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  for (const name of [...FILES, 'src/main.ts', 'src/users/name.ts', 'src/users/moved.ts']) write(name, 'as it was');
  let before: string;
  beforeEach(() => (before = digestOfSources(folder)));

  it.each([...FILES, 'src/main.ts', 'src/users/name.ts'])('where %s has changed', (name) => {
    write(name, 'not as it was');

    expect(digestOfSources(folder)).not.toBe(before);
  });

  it('where a file has another name', () => {
    renameSync(join(folder, 'src/users/moved.ts'), join(folder, 'src/moved.ts'));

    expect(digestOfSources(folder)).not.toBe(before);
  });

  it('not where nothing has, nor where types were declared', () => {
    write('src/console/schema.d.ts', 'export interface Row {}');
    write('README.md', 'what people read');

    expect(digestOfSources(folder)).toBe(before);
  });
});
