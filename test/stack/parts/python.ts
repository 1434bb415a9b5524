import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';

/**
 * A Python virtual environment with what `NAME/requirements.txt` beside this file pins. Its programs are begun by
 * `bin/python -m NAME`: the scripts beside it name the folder in which they were installed.
 */
export async function installPython(processes: Processes, cache: string, name: string): Promise<string> {
  const requirements = join(import.meta.dirname, name, 'requirements.txt');
  const recipe = createHash('sha256').update(await readFile(requirements));
  const key = `${name}-${recipe.digest('hex').slice(0, 8)}`;
  return cached(cache, key, ['bin/python', 'pyvenv.cfg'], async (staging) => {
    const install = { name: `install-${name}`, cwd: staging };
    await processes.complete({ ...install, command: 'python3', args: ['-m', 'venv', staging] });
    const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary', ':all:'];
    await processes.complete({
      ...install,
      command: join(staging, 'bin', 'python'),
      args: ['-m', 'pip', 'install', ...flags, '--requirement', requirements],
    });
  });
}
