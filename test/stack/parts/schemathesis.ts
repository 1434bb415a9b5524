import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';

/** Schemathesis and everything that it needs, each pinned. */
const REQUIREMENTS = join(import.meta.dirname, 'schemathesis', 'requirements.txt');

/**
 * A Python virtual environment with Schemathesis, which derives requests from an OpenAPI document. About 95 MB. It is begun by
 * `bin/python -m schemathesis`: the scripts beside it name the folder in which they were installed.
 */
export async function installSchemathesis(processes: Processes, cache: string): Promise<string> {
  const recipe = createHash('sha256').update(await readFile(REQUIREMENTS));
  const key = `schemathesis-${recipe.digest('hex').slice(0, 8)}`;
  return cached(cache, key, ['bin/python', 'pyvenv.cfg'], async (staging) => {
    const install = { name: 'install-schemathesis', cwd: staging };
    await processes.complete({ ...install, command: 'python3', args: ['-m', 'venv', staging] });
    const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary', ':all:'];
    await processes.complete({
      ...install,
      command: join(staging, 'bin', 'python'),
      args: ['-m', 'pip', 'install', ...flags, '--requirement', REQUIREMENTS],
    });
  });
}
