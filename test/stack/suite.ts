import { delimiter, join } from 'node:path';

import type { Processes } from './running/processes.js';

const ROOT = join(import.meta.dirname, '..', '..');
const JEST = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
const CONFIG = join(import.meta.dirname, 'jest.config.js');
/** In the environment: where a report for machines is wanted, in jest's own form. */
const REPORT = 'GRANTLINE_TEST_REPORT';

/**
 * Runs the specs.
 * @param parts where they find what they run on, as they know it from their environment
 * @returns jest's exit code
 */
export function suite(processes: Processes, parts: Record<string, string>, rest: readonly string[]): Promise<number> {
  return jest(processes, process.execPath, parts, ['--config', CONFIG, '--runInBand', ...rest]);
}

/**
 * Runs what `npm test` runs, on another Node: the tests, the services that they start, and npm.
 * @param folder with `node`
 * @returns jest's exit code
 */
export function suiteOnNode(processes: Processes, folder: string, rest: readonly string[]): Promise<number> {
  return jest(processes, join(folder, 'node'), { PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}` }, rest);
}

async function jest(
  processes: Processes,
  node: string,
  env: Record<string, string>,
  args: readonly string[],
): Promise<number> {
  const report = process.env[REPORT];
  const reporting = report === undefined ? [] : ['--json', `--outputFile=${report}`];
  const program = { name: 'jest', command: node, args: [JEST, ...reporting, ...args] };
  const { exitCode } = await processes.launch({ ...program, env, cwd: ROOT, atTerminal: true }).ended;
  return exitCode ?? 1;
}
