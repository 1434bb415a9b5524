import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';
import { buildProgram } from './go.js';

const MODULE = join(import.meta.dirname, 'opa');

/** A folder with stock `opa`: 45 MB, some minutes. Pinned by its go.sum. */
export async function installOpa(processes: Processes, cache: string): Promise<string> {
  const pins = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) pins.update(await readFile(join(MODULE, file)));
  return cached(cache, `opa-${pins.digest('hex').slice(0, 8)}`, ['opa'], (staging) =>
    buildProgram(processes, {
      module: MODULE,
      source: 'github.com/open-policy-agent/opa',
      program: join(staging, 'opa'),
    }),
  );
}
