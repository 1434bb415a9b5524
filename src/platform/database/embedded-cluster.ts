import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { LogMarker } from '../../kernel/log-marker.js';
import { type Account, databaseAccount, isReachable, isReplaceable, runAs } from './database-account.js';
import { type Binaries, packagedBinaries, runnableBinaries } from './embedded-binaries.js';
import { ownFolder, readPlainFile } from '../files/plain-file.js';
import { createFile } from '../files/whole-file.js';

/** A cluster, and how its programs are run. Of all that lies in `home`, only `data` belongs to the account. */
export interface Cluster {
  home: string;
  data: string;
  passwords: Passwords;
  account: Account;
  binaries: Binaries;
}

/** Generated, one for each role. */
type Passwords = Record<'postgres' | 'grantline_owner' | 'grantline', string>;

/**
 * Finds the cluster of a DATA_DIR, or makes it. Where it lies, and its passwords, are in a file that only its owner may read.
 * @param packaged other programs than the packaged ones
 * @throws Error if the account that the database runs as could lead this process to files that are not its own
 */
export async function prepareCluster(
  dataDir: string,
  report: (line: LogMarker) => void,
  packaged?: Binaries,
): Promise<Cluster> {
  const account = databaseAccount();
  mkdirSync(dataDir, { recursive: true });
  const folder = await realpath(dataDir);
  if (account !== null && isReplaceable(folder, account)) {
    throw new Error(`${folder} can be changed by ${account.name}, who runs the database: set DATA_DIR or DATABASE_URL`);
  }
  const { home, passwords } = await description(folder, account);
  ownFolder(home, account === null ? 0o700 : 0o711);
  const binaries = await runnableBinaries(packaged ?? (await packagedBinaries()), account, home);
  const cluster = { home, data: join(home, 'data'), passwords, account, binaries };
  if (!existsSync(join(cluster.data, 'PG_VERSION'))) {
    report('making the embedded database (once, a few seconds)');
    await initialise(cluster);
  }
  if (!lstatSync(cluster.data).isDirectory()) throw new Error(`${cluster.data} is a link: remove it`);
  return cluster;
}

/** Whether a DATA_DIR has a cluster. */
export function hasCluster(dataDir: string): boolean {
  const file = join(dataDir, 'postgres.json');
  return existsSync(file) && existsSync(join(readDescription(file).home, 'data'));
}

function readDescription(file: string): Pick<Cluster, 'home' | 'passwords'> {
  return JSON.parse(readPlainFile(file)) as Pick<Cluster, 'home' | 'passwords'>;
}

async function description(dataDir: string, account: Account): Promise<Pick<Cluster, 'home' | 'passwords'>> {
  const file = join(dataDir, 'postgres.json');
  const secret = (): string => randomBytes(24).toString('base64url');
  if (!existsSync(file)) {
    const home = isReachable(dataDir, account) ? join(dataDir, 'postgres') : outsideHome();
    const passwords: Passwords = { postgres: secret(), grantline_owner: secret(), grantline: secret() };
    await createFile(file, JSON.stringify({ home, passwords }), 0o600);
  }
  return readDescription(file);
}

/** The folder of root's cluster where the unprivileged account cannot reach `DATA_DIR`: one of the system's own. */
function outsideHome(): string {
  const parent = '/var/lib/grantline';
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  return mkdtempSync(join(parent, 'postgres-'));
}

/** Makes the cluster under another name, so that a half-made one is made again. Nothing here happens inside the account's folder. */
async function initialise({ home, data, passwords, account, binaries }: Cluster): Promise<void> {
  const staging = mkdtempSync(join(home, 'initdb-'));
  const passwordFile = `${staging}.password`;
  writeFileSync(passwordFile, passwords.postgres, { mode: 0o600, flag: 'wx' });
  if (account !== null) for (const path of [staging, passwordFile]) chownSync(path, account.uid, account.gid);
  const flags = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  try {
    await runAs(account, home, binaries.initdb, [...flags, '--encoding=UTF8', '--no-locale', `--pgdata=${staging}`]);
    renameSync(staging, data);
  } catch (error) {
    await removeFolder(staging, account);
    if (!existsSync(join(data, 'PG_VERSION'))) throw error; // otherwise another process was first
  } finally {
    rmSync(passwordFile);
  }
}

/** Removed by the account itself, which could exchange files while this process removes them. */
async function removeFolder(path: string, account: Account): Promise<void> {
  if (account === null) {
    rmSync(path, { recursive: true });
  } else {
    await runAs(account, dirname(path), '/bin/rm', ['-rf', '--', path]).catch(() => undefined); // all but the folder itself
    rmdirSync(path);
  }
}
