import { spawn } from 'node:child_process';
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { databaseAccount } from '../../../src/platform/infrastructure/database-account.js';
import { joinEmbeddedPostgres } from '../../../src/platform/infrastructure/embedded-postgres.js';
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
  const [program = '', ...args] = commandLine(readFileSync(join(data, 'postmaster.opts'), 'utf8'));
  const pid = (): number => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    url: database.url,
    migrationUrl: database.migrationUrl,
    async crash() {
      const running = pid();
      renameSync(data, away); // or this process, which has joined it, starts it again at once
      process.kill(running, 'SIGQUIT');
      while (isAlive(running)) await pause(20);
    },
    startAgain() {
      renameSync(away, data);
      const account = databaseAccount();
      const as = account === null ? {} : { uid: account.uid, gid: account.gid };
      spawn(program, args, {
        cwd: home,
        env: { LC_ALL: 'C', TZ: 'UTC' },
        detached: true,
        stdio: 'ignore',
        ...as,
      }).unref();
    },
    async drop() {
      await database.release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `postmaster.opts`: the program, then its arguments in quotes. */
function commandLine(text: string): string[] {
  const [program = ''] = text.split(' ', 1);
  return [program, ...Array.from(text.matchAll(/"([^"]*)"/g), ([, argument = '']) => argument)];
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
