import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { assertNothingLeft, processesOf } from './running/leftover-processes.js';
import { Processes, type Running } from './running/processes.js';
import { until } from './running/until.js';
import { openStack } from './stack.js';

const stack = openStack(process.env);
const RUNNER = join(import.meta.dirname, 'run.ts');
/** kc.sh and its java, etcd, kube-apiserver: in the middle of the start. */
const SOME = 3;

describe('a second run, while this one goes on', () => {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'interruption-')));
  afterAll(() => processes.stopAll());

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('stops everything on %s and removes its folder', async (signal) => {
    const { runner, folder } = await startedRun(`second-run-${signal}`);
    process.kill(runner.pid, signal);
    expect((await runner.ended).how).toMatch(/^exit code 1[2-4]/);
    expect(processesOf(folder)).toEqual([]);
    expect(() => readFileSync(join(folder, 'logs', 'etcd.log'))).toThrow('ENOENT');
  });

  it('leaves nothing running when it is killed outright', async () => {
    const { runner, folder } = await startedRun('second-run-killed');
    process.kill(runner.pid, 'SIGKILL');
    expect((await runner.ended).how).toBe('ended by SIGKILL');
    await assertNothingLeft(folder);
    rmSync(folder, { recursive: true });
  });

  async function startedRun(name: string): Promise<{ runner: Running; folder: string }> {
    const runner = processes.launch({ name, command: process.execPath, args: ['--import', 'tsx', RUNNER, 'demo'] });
    const folder = await until('the run has processes', 60_000, () => {
      runner.assertAlive();
      const found = /^run folder: (.+)$/m.exec(readFileSync(runner.log, 'utf8'))?.[1];
      return Promise.resolve(found !== undefined && processesOf(found).length >= SOME ? found : undefined);
    });
    return { runner, folder };
  }
});
