import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

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
 * Whether an account may put something else in a folder's place, or into it. In a folder that is sticky it may not touch
 * what others own.
 */
export function isReplaceable(path: string, account: Account): boolean {
  if (account === null) return false;
  const { mode, uid, gid } = statSync(path);
  const shared = (mode & 0o1000) === 0 ? mode : 0;
  if (uid === account.uid || (gid === account.gid && shared & 0o020) || shared & 0o002) return true;
  return path !== dirname(path) && isReplaceable(dirname(path), account);
}

/** How a process is started as an account: in a session of its own, so that Ctrl-C at a terminal reaches it through us only. */
export function runningAs(account: Account, cwd: string) {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  return { cwd, env, detached: true, ...(account === null ? {} : { uid: account.uid, gid: account.gid }) };
}

/** Runs a program to its end as an account. @throws Error with its error output unless it ends well. */
export async function runAs(account: Account, cwd: string, program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { ...runningAs(account, cwd), stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (code !== 0) throw new Error(`${program} failed: ${errors.trim()}`);
}
