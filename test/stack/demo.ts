import { once } from 'node:events';

import { say } from './progress.js';
import type { Processes } from './running/processes.js';
import type { StartedStack } from './stack.js';

/** Shows the loop on the started parts, step by step, and leaves everything running until it is interrupted. */
export async function demo(processes: Processes, { file }: StartedStack): Promise<number> {
  say(`everything is up; ${file} says where. Ctrl-C stops it.`);
  await once(processes.ending, 'abort');
  return 0;
}
