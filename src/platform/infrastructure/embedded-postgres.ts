import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import {
  type Account,
  type Binaries,
  databaseAccount,
  type Host,
  outsideHome,
  packagedBinaries,
  reachable,
  runnableBinaries,
} from './embedded-binaries.js';
import { createFile } from './whole-file.js';

/** Where the cluster lies, and the generated passwords of its three roles. Kept in DATA_DIR, readable by its owner only. */
interface Cluster {
  home: string;
  passwords: { postgres: string; grantline_owner: string; grantline: string };
}

export interface EmbeddedDatabase {
  /** As the service's role, which is no superuser and owns nothing. */
  url: string;
  /** As the role that owns the schema. */
  migrationUrl: string;
  /** Lets go of the database. The last process to let go stops it. */
  release(): Promise<void>;
}

const START_DEADLINE_MS = 60_000;
const RELAUNCH_MS = 5_000;
const PRESENCE = 'grantline presence';

/**
 * The database of a machine with nothing but Node: made on first use in DATA_DIR, on a loopback port, with SCRAM.
 * A running one is joined, also one that a killed process left behind; whoever leaves last stops it.
 * @param options further server settings, such as `fsync=off` for tests.
 * @param binaries other programs than the packaged ones: for tests on another version.
 */
export async function joinEmbeddedPostgres(
  dataDir: string,
  say: (line: string) => void,
  options: readonly string[] = [],
  binaries?: Binaries,
): Promise<EmbeddedDatabase> {
  const host: Host = { account: databaseAccount(), packaged: binaries ?? (await packagedBinaries()) };
  const cluster = await prepare(dataDir, host, say);
  const data = join(cluster.home, 'data');
  const deadline = performance.now() + START_DEADLINE_MS;
  let launchAt = 0;
  for (;;) {
    const port = runningPort(data);
    const presence = port === null ? null : await connect(cluster, 'postgres', port, PRESENCE);
    if (port !== null && presence !== null) {
      await ensureDatabase(presence, cluster);
      return {
        url: url(cluster, 'grantline', port),
        migrationUrl: url(cluster, 'grantline_owner', port),
        release: () => leave(presence, data),
      };
    }
    if (performance.now() > deadline) {
      throw new Error(
        `the embedded database did not start within ${START_DEADLINE_MS / 1000} s; see ${join(cluster.home, 'server.log')}`,
      );
    }
    // A pid file whose number now belongs to a stranger looks alive: PostgreSQL itself judges it when it is asked to start.
    if (performance.now() >= launchAt && (port === null || launchAt > 0)) {
      launchAt = performance.now() + RELAUNCH_MS;
      await launch(cluster, host, options);
    } else if (launchAt === 0) launchAt = performance.now() + RELAUNCH_MS;
    await delay(100);
  }
}

/** Makes the cluster once. A half-made one has no `data` folder under its final name and is made again. */
async function prepare(dataDir: string, host: Host, say: (line: string) => void): Promise<Cluster> {
  const { account } = host;
  mkdirSync(dataDir, { recursive: true });
  const file = join(dataDir, 'postgres.json');
  const secret = (): string => randomBytes(24).toString('base64url');
  if (!existsSync(file)) {
    const home = reachable(dataDir, account) ? join(dataDir, 'postgres') : outsideHome();
    const passwords = { postgres: secret(), grantline_owner: secret(), grantline: secret() };
    await createFile(file, JSON.stringify({ home, passwords }), 0o600);
  }
  const cluster = JSON.parse(readFileSync(file, 'utf8')) as Cluster;
  mkdirSync(cluster.home, { recursive: true, mode: 0o700 });
  if (account !== null) chownSync(cluster.home, account.uid, account.gid);
  if (!existsSync(join(cluster.home, 'data', 'PG_VERSION'))) {
    say('making the embedded database (once, a few seconds)');
    await initialise(cluster, host);
  }
  return cluster;
}

async function initialise(cluster: Cluster, host: Host): Promise<void> {
  const { account } = host;
  const { initdb } = await runnableBinaries(host, cluster.home);
  const staging = mkdtempSync(join(cluster.home, 'initdb-'));
  const passwordFile = join(staging, 'password');
  writeFileSync(passwordFile, cluster.passwords.postgres, { mode: 0o600 });
  if (account !== null) for (const path of [staging, passwordFile]) chownSync(path, account.uid, account.gid);
  const data = join(staging, 'data');
  const flags = [
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--no-locale',
  ];
  await promisify(execFile)(initdb, [...flags, `--pgdata=${data}`], as(account, cluster.home));
  try {
    renameSync(data, join(cluster.home, 'data'));
  } catch (error) {
    if (!existsSync(join(cluster.home, 'data', 'PG_VERSION'))) throw error; // otherwise another process was first
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Starts the server in a session of its own, so that Ctrl-C at a terminal reaches it through us only. */
async function launch(cluster: Cluster, host: Host, options: readonly string[]): Promise<void> {
  const { postgres } = await runnableBinaries(host, cluster.home);
  const log = openSync(join(cluster.home, 'server.log'), 'a', 0o600);
  const settings = ['listen_addresses=127.0.0.1', `port=${await freePort()}`, 'unix_socket_directories=', ...options];
  const server = spawn(
    postgres,
    ['-D', join(cluster.home, 'data'), ...settings.flatMap((setting) => ['-c', setting])],
    {
      ...as(host.account, cluster.home),
      detached: true,
      stdio: ['ignore', log, log],
    },
  );
  server.on('error', () => undefined); // seen as a server that never answers, by the deadline
  server.unref(); // two processes may start it at once: PostgreSQL lets one live, and both find that one
}

/** The port in `postmaster.pid` (line 4) while its process (line 1) lives. */
function runningPort(data: string): number | null {
  let lines: string[];
  try {
    lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(lines[0]), 0);
  } catch {
    return null;
  }
  const port = Number(lines[3]);
  return Number.isInteger(port) && port > 0 ? port : null;
}

async function connect(
  cluster: Cluster,
  role: keyof Cluster['passwords'],
  port: number,
  name: string,
): Promise<Client | null> {
  const client = new Client({
    connectionString: url(cluster, role, port, 'postgres'),
    application_name: name,
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  });
  client.on('error', () => undefined); // the server went away: the next query says so
  try {
    await client.connect();
    return client;
  } catch {
    return null;
  }
}

async function ensureDatabase(client: Client, cluster: Cluster): Promise<void> {
  await client.query('SELECT pg_advisory_lock(7471001)');
  try {
    const roles = await client.query(`SELECT 1 FROM pg_database WHERE datname = 'grantline'`);
    if (roles.rowCount !== 0) return;
    for (const role of ['grantline_owner', 'grantline'] as const) {
      await client.query(`DROP ROLE IF EXISTS ${role}`);
      await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${cluster.passwords[role]}'`);
    }
    await client.query('CREATE DATABASE grantline OWNER grantline_owner');
  } finally {
    await client.query('SELECT pg_advisory_unlock(7471001)');
  }
}

/** Stops the server when nobody else is present: SIGINT to the postmaster is PostgreSQL's "fast shutdown". */
async function leave(presence: Client, data: string): Promise<void> {
  const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const others = await presence
    .query(`SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()`, [PRESENCE])
    .catch(() => ({ rowCount: 0 }));
  await presence.end().catch(() => undefined);
  if (others.rowCount !== 0) return;
  try {
    process.kill(pid, 'SIGINT');
    const deadline = performance.now() + 10_000;
    while (runningPort(data) !== null && performance.now() < deadline) await delay(50);
  } catch {
    // already gone
  }
}

function url(cluster: Cluster, role: keyof Cluster['passwords'], port: number, database = 'grantline'): string {
  return `postgres://${role}:${cluster.passwords[role]}@127.0.0.1:${port}/${database}`;
}

function as(account: Account, cwd: string): { cwd: string; uid?: number; gid?: number; env: NodeJS.ProcessEnv } {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  return account === null ? { cwd, env } : { cwd, env, uid: account.uid, gid: account.gid };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('no free port'));
      });
    });
  });
}
