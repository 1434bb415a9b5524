import { delimiter, join } from 'node:path';

import type { Processes } from './running/processes.js';

const ROOT = join(import.meta.dirname, '..', '..');
const JEST = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
const CONFIG = join(import.meta.dirname, 'jest.config.js');
const OTHER_VERSIONS = join(import.meta.dirname, 'other-versions.config.js');
/** In the environment of the set-up of a jest run: the PostgreSQL to run on. */
const POSTGRES_PACKAGE = 'GRANTLINE_TEST_POSTGRES_PACKAGE';
/** In the environment: where a report for machines is wanted, in jest's own form. */
const REPORT = 'GRANTLINE_TEST_REPORT';

/**
 * Runs the specs.
 * @param parts where they find what they run on, as they know it from their environment
 * @returns jest's exit code
 */
export function suite(processes: Processes, parts: Record<string, string>, rest: readonly string[]): Promise<number> {
  return jest(processes, process.execPath, parts, ['--config', CONFIG, ...rest]);
}

/**
 * Runs what meets Node or PostgreSQL in `npm test`, on others: the tests, the services that they start, npm, and the database.
 * @param node folder with `node`
 * @param postgres folder of the package with its programs
 * @returns jest's exit code
 */
export function suiteOnOtherVersions(
  processes: Processes,
  { node, postgres }: { node: string; postgres: string },
  rest: readonly string[],
): Promise<number> {
  const env = { PATH: `${node}${delimiter}${process.env['PATH'] ?? ''}`, [POSTGRES_PACKAGE]: postgres };
  return jest(processes, join(node, 'node'), env, ['--config', OTHER_VERSIONS, ...rest]);
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
