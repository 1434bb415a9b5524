import { createHash } from 'node:crypto';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';
import { buildProgram } from './go.js';
import { installPython } from './python.js';
import { TRINO_VERSION } from './trino.js';

const RECIPE = join(import.meta.dirname, 'engine-clients');
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';

/** The engine's official clients, each as its documentation installs it. About 90 MB. */
export interface EngineClients {
  /** A folder whose `node_modules` hold trino-client. */
  javascript: string;
  /** A virtual environment with trino. */
  python: string;
  /** A folder with `read-rows`, built with trino-go-client. */
  go: string;
  /** A folder with the JDBC driver's jar. */
  jdbc: string;
}

/** What reads rows by the clients that are not for JavaScript. */
export const READ_ROWS = { python: join(RECIPE, 'read-rows.py'), java: join(RECIPE, 'ReadRows.java') };
export const JDBC_JAR = `trino-jdbc-${TRINO_VERSION}.jar`;

export async function installEngineClients(processes: Processes, cache: string, java: string): Promise<EngineClients> {
  const javascript = await cached(
    cache,
    `engine-client-javascript-${await digest('package-lock.json')}`,
    ['node_modules/trino-client/package.json'],
    async (staging) => {
      for (const name of ['package.json', 'package-lock.json']) await copyFile(join(RECIPE, name), join(staging, name));
      const args = ['ci', '--silent', '--ignore-scripts', '--no-audit', '--no-fund'];
      await processes.complete({ name: 'install-engine-client', command: 'npm', args, cwd: staging });
    },
  );
  const go = await cached(cache, `engine-client-go-${await digest('go.sum', 'main.go')}`, ['read-rows'], (staging) =>
    buildProgram(processes, { module: RECIPE, source: '.', program: join(staging, 'read-rows') }),
  );
  const jdbc = await cached(cache, `engine-client-jdbc-${TRINO_VERSION}`, [JDBC_JAR], async (staging) => {
    await processes.complete({
      name: 'install-jdbc',
      command: 'mvn',
      args: ['-B', '-q', COPY, `-Dartifact=io.trino:trino-jdbc:${TRINO_VERSION}`, `-DoutputDirectory=${staging}`],
      env: { JAVA_HOME: java },
      cwd: staging,
    });
  });
  return { javascript, go, jdbc, python: await installPython(processes, cache, 'engine-clients') };
}

async function digest(...files: string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(join(RECIPE, file)));
  return hash.digest('hex').slice(0, 8);
}
