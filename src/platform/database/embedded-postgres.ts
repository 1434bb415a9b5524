import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { LogMarker } from '../../kernel/log-marker.js';
import { type Binaries, type Cluster, prepareCluster, runAs, spawnOptions } from './embedded-cluster.js';
import { openLog, readPlainFile } from '../files/plain-file.js';

export interface EmbeddedDatabase {
  /** URL for the service's role, which is no superuser and owns nothing. */
  url: string;
  /** URL for the role that owns the schema. */
  migrationUrl: string;
  /** Rejects when the database has ended. */
  failure: Promise<never>;
  /** Disconnects. The last process to disconnect stops the database. */
  release(): Promise<void>;
}

const START_DEADLINE_MS = 60_000;
const RELAUNCH_MS = 1_000;
const CONNECT_MS = 5_000;
const STOP_DEADLINE_SECONDS = 10;
const PRESENCE = 'grantline presence';
const LEAVING = 'grantline leaving';

/** Lets one process at a time create the database, or decide whether it is the last one. */
const LOCK = 'SELECT pg_advisory_lock(7471001)';
const UNLOCK = 'SELECT pg_advisory_unlock(7471001)';

/**
 * Joins the embedded database, which needs nothing but Node. It is created on first use in DATA_DIR, on a loopback port, with SCRAM. A
 * running server is joined, also one that a killed process left behind; the last process to leave stops it.
 * @param options further server settings, such as `fsync=off` for tests.
 * @param binaries programs to use instead of the packaged ones, for tests on another version.
 */
export async function joinEmbeddedPostgres(
  dataDir: string,
  report: (line: LogMarker) => void,
  options: readonly string[] = [],
  binaries?: Binaries,
): Promise<EmbeddedDatabase> {
  const cluster = await prepareCluster(dataDir, report, binaries);
  const { client, port } = await enter(cluster, options);
  let isLeaving = false;
  const failure = new Promise<never>((_, reject) => {
    client.once('end', () => {
      if (!isLeaving) reject(new Error(`the embedded database has ended; see ${logFile(cluster)}`));
    });
  });
  failure.catch(() => undefined); // commands do not use it: their own queries fail
  return {
    url: url(cluster, 'grantline', port),
    migrationUrl: url(cluster, 'grantline_owner', port),
    failure,
    release: () => {
      isLeaving = true;
      return leave(client, cluster);
    },
  };
}

/** Joins the server of a cluster, and starts it if none runs. */
async function enter(cluster: Cluster, options: readonly string[]): Promise<{ client: Client; port: number }> {
  const deadline = performance.now() + START_DEADLINE_MS;
  let launchAt = 0;
  for (;;) {
    const port = recordedPort(cluster);
    const client = await connectPresence(cluster, port);
    if (port !== null && client !== null) return { client, port };
    if (performance.now() > deadline) {
      throw new Error(
        `the embedded database did not start within ${START_DEADLINE_MS / 1000} s; see ${logFile(cluster)}`,
      );
    }
    // PostgreSQL itself must find out whether a server runs, because the database's account can change the pid file.
    if (performance.now() >= launchAt) {
      launchAt = performance.now() + RELAUNCH_MS;
      launch(cluster, options, await freePort());
    }
    await delay(100);
  }
}

/** Starts the server. If two processes do so at once, PostgreSQL lets one server run and both processes find it. */
function launch(cluster: Cluster, options: readonly string[], port: number): void {
  const { account, binaries, data, home } = cluster;
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', ...options];
  const log = openLog(logFile(cluster));
  const server = spawn(binaries.postgres, ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
    ...spawnOptions(account, home),
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  server.on('error', () => undefined); // the deadline reports it as a server that never answers
  server.unref();
}

/** The server's log, in a folder that only this process's account can write. */
function logFile({ home }: Cluster): string {
  return join(home, 'server.log');
}

/** The port of a server that runs or has run, from the fourth line of `postmaster.pid`. */
function recordedPort({ account, data }: Cluster): number | null {
  try {
    const port = Number(readPlainFile(join(data, 'postmaster.pid'), account?.uid).split('\n')[3]);
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
  } catch {
    return null;
  }
}

/** A connection by which other processes see that this one uses the database. Null: no server runs, or it is being stopped. */
async function connectPresence(cluster: Cluster, port: number | null): Promise<Client | null> {
  const client = await connect(cluster, port, PRESENCE);
  if (client === null) return null;
  try {
    await ensureDatabase(client, cluster);
    return client;
  } catch {
    await client.end().catch(() => undefined);
    return null;
  }
}

async function connect(cluster: Cluster, port: number | null, name: string): Promise<Client | null> {
  if (port === null) return null;
  const client = new Client({
    connectionString: url(cluster, 'postgres', port, 'postgres'),
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: 10_000,
    keepAlive: true,
  });
  client.on('error', () => undefined); // if the server goes away, the next query fails
  try {
    await client.connect();
    return client;
  } catch {
    return null;
  }
}

async function ensureDatabase(client: Client, { passwords }: Cluster): Promise<void> {
  await client.query(LOCK);
  const roles = await client.query(`SELECT FROM pg_database WHERE datname = 'grantline'`);
  if (roles.rowCount === 0) {
    for (const role of ['grantline_owner', 'grantline'] as const) {
      await client.query(`DROP ROLE IF EXISTS ${role}`);
      await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${passwords[role]}'`);
    }
    await client.query('CREATE DATABASE grantline OWNER grantline_owner');
  }
  await client.query(UNLOCK);
}

/** Stops the server if no other process uses it. Holds the lock meanwhile, so that none joins or leaves. */
async function leave(presence: Client, cluster: Cluster): Promise<void> {
  // A lost connection says nothing about other processes, so a new one counts them.
  const client = await presence.query('SELECT').then(
    () => presence,
    () => connect(cluster, recordedPort(cluster), LEAVING),
  );
  if (client === null || (await isLast(client).catch(() => false))) await stop(cluster);
  await client?.end().catch(() => undefined);
}

/** Takes the lock, and tells whether no other process is present. This process no longer counts as present. */
async function isLast(client: Client): Promise<boolean> {
  await client.query(LOCK);
  await client.query(`SET application_name = '${LEAVING}'`);
  const others = await client.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [PRESENCE]);
  return others.rowCount === 0;
}

/** Stops the server as the database's account, so that an edited pid file can only affect processes of that account. */
async function stop({ account, binaries, data, home }: Cluster): Promise<void> {
  const flags = ['--mode=fast', '--wait', `--timeout=${STOP_DEADLINE_SECONDS}`];
  await runAs(account, home, binaries.pg_ctl, ['stop', `--pgdata=${data}`, ...flags]).catch(() => undefined); // fails if it has stopped
}

function url(cluster: Cluster, role: keyof Cluster['passwords'], port: number, database = 'grantline'): string {
  return `postgres://${role}:${cluster.passwords[role]}@127.0.0.1:${port}/${database}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
