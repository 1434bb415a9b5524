import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';
import { buildProgram } from './go.js';

const MODULE = join(import.meta.dirname, 'crane');

/** A folder with `crane`, a registry's client and, for tests, a registry: 12 MB, some seconds. Pinned by its go.sum. */
export async function installCrane(processes: Processes, cache: string): Promise<string> {
  const pins = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) pins.update(await readFile(join(MODULE, file)));
  return cached(cache, `crane-${pins.digest('hex').slice(0, 8)}`, ['crane'], (staging) =>
    buildProgram(processes, {
      module: MODULE,
      source: 'github.com/google/go-containerregistry/cmd/crane',
      program: join(staging, 'crane'),
    }),
  );
}
