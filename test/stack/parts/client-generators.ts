import { createHash } from 'node:crypto';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';
import { installPython } from './python.js';

/** What makes clients of an OpenAPI document, each with all that its clients need. About 145 MB. */
export interface ClientGenerators {
  /** A virtual environment with openapi-python-client. */
  python: string;
  /** A folder whose `node_modules` hold @hey-api/openapi-ts and TypeScript. */
  typescript: string;
}

const RECIPE = join(import.meta.dirname, 'client-generators');

export async function installClientGenerators(processes: Processes, cache: string): Promise<ClientGenerators> {
  const python = await installPython(processes, cache, 'client-generators');
  const lock = createHash('sha256').update(await readFile(join(RECIPE, 'package-lock.json')));
  const key = `typescript-client-generator-${lock.digest('hex').slice(0, 8)}`;
  const members = ['node_modules/@hey-api/openapi-ts/package.json', 'node_modules/typescript/package.json'];
  const typescript = await cached(cache, key, members, async (staging) => {
    for (const name of ['package.json', 'package-lock.json']) await copyFile(join(RECIPE, name), join(staging, name));
    const args = ['ci', '--silent', '--ignore-scripts', '--no-audit', '--no-fund'];
    await processes.complete({ name: 'install-typescript-client-generator', command: 'npm', args, cwd: staging });
  });
  return { python, typescript };
}
