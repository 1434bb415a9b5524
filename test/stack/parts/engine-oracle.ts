import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';

const PROJECT = join(import.meta.dirname, '..', 'engine-oracle');
const SOURCES = ['pom.xml', join('src', 'main', 'java', 'EngineOracle.java')];

/** `classes/` with our few lines of Java, `lib/` with the engine's published access control and what it needs. 50 MB. */
export async function installEngineOracle(processes: Processes, cache: string, javaHome: string): Promise<string> {
  const recipe = createHash('sha256');
  for (const source of SOURCES) recipe.update(await readFile(join(PROJECT, source)));
  const key = `engine-oracle-${recipe.digest('hex').slice(0, 8)}`;

  return cached(cache, key, ['classes/EngineOracle.class', 'lib'], async (staging) => {
    const goals = ['compiler:compile', 'dependency:copy-dependencies'];
    await processes.complete({
      name: 'build-engine-oracle',
      command: 'mvn',
      args: ['-B', '-q', '-C', '-f', join(PROJECT, 'pom.xml'), `-Doracle.build=${staging}`, ...goals],
      env: { JAVA_HOME: javaHome },
      cwd: staging,
    });
  });
}
