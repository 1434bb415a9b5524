import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Processes, Running } from './processes.js';
import { until } from './until.js';

const START_DEADLINE = 120_000;

/** An empty database with its two roles, as docs/install.md asks for it. */
export interface Postgres {
  /** As the service's role. */
  url: string;
  /** As the owner. */
  migrationUrl: string;
  process: Running;
}

/** Starts one in a folder of its own, as a process that the run stops like every other. @param name use each once */
export async function startPostgres(processes: Processes, name: string): Promise<Postgres> {
  const script = join(import.meta.dirname, 'postgres-server.ts');
  const args = ['--import', 'tsx', script, join(processes.folder, name)];
  const server = processes.launch({ name, command: process.execPath, args });
  const urls = await until(`${name} is ready`, START_DEADLINE, () => {
    server.assertAlive();
    const line = /^\{.*\}$/m.exec(readFileSync(server.log, 'utf8'))?.[0];
    return Promise.resolve(
      line === undefined ? undefined : (JSON.parse(line) as Pick<Postgres, 'url' | 'migrationUrl'>),
    );
  });
  return { ...urls, process: server };
}
