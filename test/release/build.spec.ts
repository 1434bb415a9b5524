import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { digestOfSources } from '../../build.js';

const TOOLS = ['build.js', 'package-lock.json', 'package.json'];
const CODE = ['bundle.js', 'tsconfig.build.json', 'tsconfig.json', 'src/main.ts', 'src/users/name.ts'];
const PAGES = ['src/console/browser/app.tsx', 'src/console/browser/styles/base.css'];
const SHARED = [
  'src/audit/domain/audit-event.ts',
  'src/kernel/collections.ts',
  'src/trino-rules/document/a.ts',
  'src/trino-rules/model/node.ts',
];
const NEITHER = ['README.md', 'src/console/browser/api/schema.d.ts', 'src/users/name.spec.ts'];

describe('a build makes again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantline-build-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  const digests = () => ({ code: digestOfSources(folder, 'code'), pages: digestOfSources(folder, 'pages') });
  const changed = (before: ReturnType<typeof digests>) => {
    const after = digests();
    return { code: after.code !== before.code, pages: after.pages !== before.pages };
  };
  for (const name of [...TOOLS, ...CODE, ...PAGES, ...SHARED, 'src/users/moved.ts']) write(name, 'as it was');

  it.each([
    ...[...TOOLS, ...SHARED].map((name) => [name, { code: true, pages: true }] as const),
    ...CODE.map((name) => [name, { code: true, pages: false }] as const),
    ...PAGES.map((name) => [name, { code: false, pages: true }] as const),
    ...NEITHER.map((name) => [name, { code: false, pages: false }] as const),
  ])('what %s is part of', (name, expected) => {
    const before = digests();
    write(name, `not as it was: ${Math.random()}`);

    expect(changed(before)).toEqual(expected);
  });

  it('the code where a file has another name', () => {
    const before = digests();
    renameSync(join(folder, 'src/users/moved.ts'), join(folder, 'src/moved.ts'));

    expect(changed(before)).toEqual({ code: true, pages: false });
  });
});
