import { execFileSync } from 'node:child_process';

import { RUN_MARK } from './processes.js';
import { until } from './until.js';

/** Command lines of the running processes that name the run in their arguments or carry its mark in their environment. */
export function processesOf(runFolder: string): string[] {
  const listing = execFileSync('ps', ['axeww', '-o', 'pid=,stat=,args='], { encoding: 'utf8', maxBuffer: 2 ** 28 });
  return listing
    .split('\n')
    .map((line) => /^\s*(?<pid>\d+)\s+(?<state>\S+)\s+(?<args>.*)$/.exec(line)?.groups)
    .filter((found) => found !== undefined)
    .filter(({ pid, state }) => Number(pid) !== process.pid && state?.startsWith('Z') === false)
    .filter(
      ({ args }) => args?.includes(`${RUN_MARK}=${runFolder}`) === true || args?.includes(`${runFolder}/`) === true,
    )
    .map(({ pid, args }) => `${pid ?? ''} ${args?.slice(0, 160) ?? ''}`);
}

/** @throws listing them, when processes of the run still live 30 seconds from now */
export async function assertNothingLeft(runFolder: string): Promise<void> {
  await until(`no process of ${runFolder} is left`, 30_000, () => {
    const left = processesOf(runFolder);
    if (left.length > 0) return Promise.reject(new Error(`still running:\n${left.join('\n')}`));
    return Promise.resolve(true);
  });
}
