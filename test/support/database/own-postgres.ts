import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { joinEmbeddedPostgres } from '../../../src/platform/database/embedded-postgres.js';
import { type TestDatabase, testPostgres } from './database.js';
import { EmbeddedCluster, folderOfClusters } from './embedded-cluster.js';

/** A PostgreSQL of one test's own, which may be stopped and started again at its old address. */
export interface OwnPostgres extends TestDatabase {
  /** As a power failure does it: connections are cut, nothing is written back, and its disk is away until `startAgain`. */
  crash(): Promise<void>;
  startAgain(): void;
}

/** @param options further server settings, such as `ssl=on` */
export async function ownPostgres(options: readonly string[] = []): Promise<OwnPostgres> {
  const folder = folderOfClusters();
  new EmbeddedCluster(folder).lay(testPostgres().made);
  const database = await joinEmbeddedPostgres(folder, () => undefined, options, testPostgres().binaries);
  const { home } = JSON.parse(readFileSync(join(folder, 'postgres.json'), 'utf8')) as { home: string };
  const [data, away] = [join(home, 'data'), join(home, 'away')];
  const pid = (): number => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    url: database.url,
    migrationUrl: database.migrationUrl,
    async crash() {
      const running = pid();
      renameSync(data, away); // this process, which has joined it, tries to start it again every second
      process.kill(running, 'SIGQUIT');
      while (isAlive(running)) await pause(20);
    },
    startAgain() {
      renameSync(away, data);
    },
    async drop() {
      await database.release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
