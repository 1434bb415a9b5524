import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exampleOf, installPacked, manifestOf } from '../support/service/packed-library.js';
import { sharedFolder } from '../support/service/shared-folder.js';

describe('grantline-rules, packed and installed in an empty project', () => {
  const project = sharedFolder('grantline-rules-');
  beforeAll(() => {
    installPacked('src/rules-files', project);
    cpSync('docs/examples', join(project, 'examples'), { recursive: true });
  });

  const run = (...args: string[]) => {
    const program = join('node_modules', 'grantline-rules', 'dist', 'rules-main.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
      cwd: project,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };

  it('checks, imports and compares', () => {
    const checked = run('check', 'examples/rules.json');
    expect(checked).toMatchObject({ status: 1, stderr: '' });
    expect(checked.stdout).toContain('1 file checked: 2 errors, 3 warnings, 0 info');

    const lists = ['--users', 'examples/users.txt'];
    expect(run('import', 'examples/shared-engine.json', ...lists, '--out', 'grants.yaml').status).toBe(1);
    expect(readFileSync(join(project, 'grants.yaml'), 'utf8')).toContain("expression: country = 'AT'");
    expect(run('diff', 'examples/shared-engine.json', 'examples/shared-engine.json', ...lists)).toEqual({
      status: 0,
      stdout: 'no difference\n',
      stderr: '',
    });
    expect(run('--version').stdout).toBe(`${manifestOf('.').version}\n`);
  });

  it('tests guarantees by the line for CI in docs/guarantees.md', () => {
    for (const [name, example] of [
      ['rules.json', 'shared-engine.json'],
      ['guarantees.yaml', 'guarantees.yaml'],
      ['users.txt', 'users.txt'],
    ] as const)
      cpSync(join('docs/examples', example), join(project, name));
    const line = /^- run: npx grantline-rules (.+) > (\S+)$/m.exec(readFileSync('docs/guarantees.md', 'utf8'));

    const { status, stdout } = run(...(line?.[1] ?? '').split(' '));

    const [{ results }] = (JSON.parse(stdout) as { runs: [{ results: object[] }] }).runs;
    expect({ status, results, written: line?.[2] }).toEqual({
      ...{ status: 1, written: 'guarantees.sarif' },
      results: [expect.objectContaining({ ruleId: 'guarantee-broken', level: 'error' })],
    });
  });

  it('runs the example of its README', () => {
    writeFileSync(join(project, 'example.mjs'), exampleOf('src/rules-files', 'js'));

    const printed = execFileSync(process.execPath, ['example.mjs'], { cwd: project, encoding: 'utf8' });

    expect(printed).toContain('1 rules-value-unknown\n');
    expect(printed).toMatch(/read\n$/);
  });

  it('has the version, the Node and the dependencies of the service', () => {
    const [own, service] = [manifestOf('src/rules-files'), manifestOf('.')];

    expect(own).toMatchObject({ version: service.version, engines: service.engines });
    expect(service.dependencies).toMatchObject(own.dependencies);
  });
});
