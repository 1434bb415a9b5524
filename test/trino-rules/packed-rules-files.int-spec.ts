import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sharedFolder } from '../support/service/shared-folder.js';

interface Manifest {
  version: string;
  engines: object;
  dependencies: Record<string, string>;
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

describe('grantline-rules, packed and installed in an empty project', () => {
  const project = sharedFolder('grantline-rules-');
  beforeAll(() => {
    const source = join(project, 'source');
    cpSync('src/rules-files', source, { recursive: true });
    execFileSync(process.execPath, ['.ci/rules-package.mjs', 'fill', source]);
    const pack = ['pack', source, '--ignore-scripts', '--json', '--pack-destination', project];
    const [packed] = JSON.parse(execFileSync('npm', pack, { encoding: 'utf8' })) as [{ filename: string }];
    execFileSync('tar', ['-xzf', packed.filename], { cwd: project });
    rmSync(source, { recursive: true });
    mkdirSync(join(project, 'node_modules'));
    renameSync(join(project, 'package'), join(project, 'node_modules', 'grantline-rules'));
    // Its only dependencies: neither the framework nor the database driver can be found from here.
    for (const name of Object.keys(manifestOf('src/rules-files').dependencies))
      symlinkSync(resolve('node_modules', name), join(project, 'node_modules', name));
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

  it('runs the example of its README', () => {
    const readme = readFileSync('src/rules-files/README.md', 'utf8');
    writeFileSync(join(project, 'example.mjs'), /```js\n(.*?)```/s.exec(readme)?.[1] ?? '');

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
