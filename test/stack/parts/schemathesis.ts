import type { Processes } from '../running/processes.js';
import { installPython } from './python.js';

/** Derives requests from an OpenAPI document: `bin/python -m schemathesis`. About 95 MB. */
export function installSchemathesis(processes: Processes, cache: string): Promise<string> {
  return installPython(processes, cache, 'schemathesis');
}
