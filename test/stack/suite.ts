import { join } from 'node:path';

import type { Processes } from './running/processes.js';

const ROOT = join(import.meta.dirname, '..', '..');
const CONFIG = join(import.meta.dirname, 'jest.config.js');
/** In the environment: where a report for machines is wanted, in jest's own form. */
const REPORT = 'GRANTLINE_TEST_REPORT';

/**
 * Runs the specs.
 * @param parts where they find what they run on, as they know it from their environment
 * @returns jest's exit code
 */
export async function suite(
  processes: Processes,
  parts: Record<string, string>,
  rest: readonly string[],
): Promise<number> {
  const report = process.env[REPORT];
  const jest = processes.launch({
    name: 'jest',
    command: process.execPath,
    args: [
      ...['--experimental-vm-modules', '--no-warnings', join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js')],
      ...['--config', CONFIG, '--runInBand'],
      ...(report === undefined ? [] : ['--json', `--outputFile=${report}`]),
      ...rest,
    ],
    env: parts,
    cwd: ROOT,
    atTerminal: true,
  });
  const { exitCode } = await jest.ended;
  return exitCode ?? 1;
}
