import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharedFolder } from '../support/service/shared-folder.js';
import { until } from '../support/service/until.js';

describe('npm run demo, while its parts are installed', () => {
  const folder = sharedFolder('grantline-demo-');
  const calls = join(folder, 'calls');
  const [bin, java] = [join(folder, 'bin'), join(folder, 'java')];
  beforeAll(() => {
    for (const each of [bin, join(java, 'bin'), join(folder, 'tmp')]) mkdirSync(each, { recursive: true });
    writeFileSync(join(java, 'release'), 'JAVA_VERSION="25.0.1"\n');
    writeFileSync(join(java, 'bin', 'javac'), '');
    writeFileSync(calls, '');
    // They take for ever.
    for (const name of ['go', 'mvn', 'npm', 'python3'])
      writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >> ${calls}\nexec sleep 600\n`, { mode: 0o755 });
  });

  it('installs what it runs side by side, and leaves nothing at a Ctrl-C, which npm sends on', async () => {
    const demo = spawn(process.execPath, ['--import', 'tsx', 'test/stack/run.ts', 'demo'], {
      env: {
        PATH: `${bin}:${process.env['PATH'] ?? ''}`,
        HOME: folder,
        TMPDIR: join(folder, 'tmp'),
        GRANTLINE_STACK_CACHE: join(folder, 'cache'),
        GRANTLINE_STACK_JAVA_HOME: java,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let told = '';
    demo.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
    const ended = once(demo, 'exit');
    await until(() => readFileSync(calls, 'utf8').split('\n').sort().join(' ').trim() === 'go mvn npm');
    demo.kill('SIGINT');
    await until(() => told.includes('SIGINT: stopping'));
    demo.kill('SIGINT');

    expect(await ended).toEqual([130, null]);
    const [, runFolder = ''] = /^run folder: (.*)$/m.exec(told) ?? [];
    expect([runFolder.startsWith(folder), existsSync(runFolder)]).toEqual([true, false]);
    expect(told).toContain('no process is left');
  });
});
