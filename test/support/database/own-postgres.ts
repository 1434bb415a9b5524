import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { prepareCluster, spawnOptions } from '../../../src/platform/database/embedded-cluster.js';
import { joinEmbeddedPostgres } from '../../../src/platform/database/embedded-postgres.js';
import { type TestDatabase, testPostgres } from './database.js';
import { EmbeddedCluster, folderOfClusters } from './embedded-cluster.js';

/** A PostgreSQL of one test's own, which may be stopped and started again at its old address. */
export interface OwnPostgres extends TestDatabase {
  /** As a power failure does it: connections are cut, and nothing is written back. */
  crash(): Promise<void>;
  startAgain(): void;
}

/** @param options further server settings, such as `ssl=on` */
export async function ownPostgres(options: readonly string[] = []): Promise<OwnPostgres> {
  const folder = folderOfClusters();
  new EmbeddedCluster(folder).lay(testPostgres().made);
  const database = await joinEmbeddedPostgres(folder, () => undefined, options, testPostgres().binaries);
  const { account, binaries, dataFolder, home } = await prepareCluster(
    folder,
    () => undefined,
    testPostgres().binaries,
  );
  return {
    url: database.url,
    migrationUrl: database.migrationUrl,
    async crash() {
      const pid = Number(readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n')[0]);
      process.kill(pid, 'SIGQUIT');
      while (isAlive(pid)) await pause(20);
    },
    startAgain() {
      const port = `port=${new URL(database.url).port}`;
      const settings = ['listen_addresses=127.0.0.1', port, 'unix_socket_directories=', ...options];
      const flags = ['-D', dataFolder, ...settings.flatMap((setting) => ['-c', setting])];
      spawn(binaries.postgres, flags, { ...spawnOptions(account, home), stdio: 'ignore' }).unref();
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
