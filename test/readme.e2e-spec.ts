import { execFile } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { folderOfClusters } from './support/embedded-cluster.js';
import { GrantlineProcess } from './support/grantline-process.js';

/** The commands of README's "Try it", as printed, in their order. */
function printedCommands(): string {
  const section = /## Try it\n(.*?)\n## /s.exec(readFileSync('README.md', 'utf8'))?.[1] ?? '';
  return [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block).join('\n');
}

describe('README, "Try it"', () => {
  let folder: string;
  let service: GrantlineProcess;
  beforeAll(() => {
    // A built checkout of its own, so that the relative paths in the text are true.
    folder = folderOfClusters();
    for (const name of ['dist', 'migrations', 'package.json']) cpSync(name, join(folder, name), { recursive: true });
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    service = new GrantlineProcess(['serve'], { PORT: '0', OPERATIONS_PORT: '0' }, { folder });
  });
  afterAll(async () => {
    service.signal('SIGTERM');
    await service.finished;
    rmSync(folder, { recursive: true });
  });

  it('works as printed', async () => {
    const commands = printedCommands().replaceAll('http://localhost:3000', await service.url());
    expect(commands).toContain('/api/auth/register');

    const { stdout } = await promisify(execFile)(
      'bash',
      ['-euo', 'pipefail', '-c', commands.replaceAll('curl -sS', 'curl -sS --fail-with-body')],
      {
        cwd: folder,
      },
    );

    expect(stdout).toContain('"username":"ana"');
    expect(stdout).toContain('"outcome":"applied"');
    expect(stdout).toContain('"catalog": "tpch"'.replace(': ', ':'));
    expect(readFileSync(join(folder, '.data', 'acl', 'rules.json'), 'utf8')).toContain('ana');
    expect(readFileSync(join(folder, 'compiled', 'rules.json'), 'utf8')).toContain('ana');
  });
});
