import type { Processes } from '../running/processes.js';
import { installPython } from './python.js';

/** Checks a SCIM server against its own schemas: scim2-tester, by scim2-cli. About 45 MB. */
export function installScimTester(processes: Processes, cache: string): Promise<string> {
  return installPython(processes, cache, 'scim-tester');
}
