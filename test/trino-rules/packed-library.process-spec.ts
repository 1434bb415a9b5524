import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sharedFolder } from '../support/service/shared-folder.js';

/** What the library's README prints, as a program. */
function printedExample(): string {
  return /```js\n(.*?)```/s.exec(readFileSync('src/trino-rules/README.md', 'utf8'))?.[1] ?? '';
}

describe('grantline/trino-rules, packed and installed in an empty project', () => {
  const project = sharedFolder('grantline-library-');
  beforeAll(() => {
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', project];
    const [packed] = JSON.parse(execFileSync('npm', pack, { encoding: 'utf8' })) as [{ filename: string }];
    execFileSync('tar', ['-xzf', packed.filename], { cwd: project });
    mkdirSync(join(project, 'node_modules'));
    cpSync(join(project, 'package'), join(project, 'node_modules', 'grantline'), { recursive: true });
    // Its only dependency: neither the framework nor the database driver can be found from here.
    symlinkSync(resolve('node_modules/refa'), join(project, 'node_modules', 'refa'));
  });

  it('runs the example of its README', () => {
    writeFileSync(join(project, 'example.mjs'), printedExample());

    const printed = execFileSync(process.execPath, ['example.mjs'], { cwd: project, encoding: 'utf8' });

    const [nothingFound, ...rest] = printed.split('\n');
    expect(nothingFound).toBe('[]');
    expect(rest.join('\n')).toMatch(/proof-difference .*SELECT from lake\.staff/);
    expect(rest).toContain('true');
    expect(rest.join('\n')).toMatch(/what: 'SELECT from lake\.staff/);
  });

  it('has types', () => {
    const declared = readFileSync(join(project, 'node_modules/grantline/dist/trino-rules/index.d.ts'), 'utf8');

    expect(declared).toContain("from './compile/compile.js'");
  });
});
