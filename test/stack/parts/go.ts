import { basename } from 'node:path';

import type { Processes } from '../running/processes.js';

/** Builds a program of a module that is pinned by the go.mod and go.sum of `module`, without C and without this machine's paths. */
export async function buildProgram(
  processes: Processes,
  {
    module,
    source,
    program,
    flags = [],
  }: { module: string; source: string; program: string; flags?: readonly string[] },
): Promise<void> {
  await processes.complete({
    name: `build-${basename(program)}`,
    command: 'go',
    args: ['build', '-C', module, ...flags, '-trimpath', '-ldflags', '-s -w', '-o', program, source],
    env: { CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' },
  });
}
