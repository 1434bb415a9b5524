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
  /** URL for the service's role, which is not a superuser and owns nothing. */
  url: string;
  /** URL for the role that owns the schema. */
  migrationUrl: string;
  /** Rejects when the database has ended. */
  failure: Promise<never>;
  /** Disconnects. The last process to disconnect stops the database. */
  release(): Promise<void>;
}

const START_DEADLINE_MS = 60_000;
const RELAUNCH_DELAY_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const STOP_DEADLINE_SECONDS = 10;
/** Application names of a process's connection: PRESENT_NAME while the process uses the database, LEAVING_NAME while it leaves. */
const PRESENT_NAME = 'grantline presence';
const LEAVING_NAME = 'grantline leaving';

/** Takes the advisory lock for creating the database, and for stopping the server after the last process. */
const LOCK_SQL = 'SELECT pg_advisory_lock(7471001)';
const UNLOCK_SQL = 'SELECT pg_advisory_unlock(7471001)';

/**
 * Joins the embedded database, which needs nothing but Node. It is created on first use in DATA_DIR, on a loopback port, with SCRAM. A
 * running server is joined, even one that a killed process left behind. The last process to leave stops the server.
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
  const { client, port } = await joinServer(cluster, options);
  let isLeaving = false;
  const failure = new Promise<never>((_, reject) => {
    client.once('end', () => {
      if (!isLeaving) reject(new Error(`the embedded database has ended; see ${logFile(cluster)}`));
    });
  });
  failure.catch(() => undefined); // commands ignore `failure`, because their queries fail as well
  return {
    url: clusterUrl(cluster, 'grantline', port),
    migrationUrl: clusterUrl(cluster, 'grantline_owner', port),
    failure,
    release: () => {
      isLeaving = true;
      return leaveCluster(client, cluster);
    },
  };
}

/** Joins the server of a cluster, and starts it if none runs. */
async function joinServer(cluster: Cluster, options: readonly string[]): Promise<{ client: Client; port: number }> {
  const deadline = performance.now() + START_DEADLINE_MS;
  let nextLaunchAt = 0;
  for (;;) {
    const port = recordedPort(cluster);
    const client = await connectPresence(cluster, port);
    if (port !== null && client !== null) return { client, port };
    if (performance.now() > deadline) {
      throw new Error(
        `the embedded database did not start within ${START_DEADLINE_MS / 1000} s; see ${logFile(cluster)}`,
      );
    }
    // If no server answers, one is launched, even if the pid file names a server, because the database's account can change that file.
    if (performance.now() >= nextLaunchAt) {
      nextLaunchAt = performance.now() + RELAUNCH_DELAY_MS;
      launchServer(cluster, options, await freePort());
    }
    await delay(100);
  }
}

/** Starts the server. If two processes do so at once, PostgreSQL lets one server run and both processes find it. */
function launchServer(cluster: Cluster, options: readonly string[], port: number): void {
  const { account, binaries, dataFolder, home } = cluster;
  const serverSettings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', ...options];
  const log = openLog(logFile(cluster));
  const server = spawn(binaries.postgres, ['-D', dataFolder, ...serverSettings.flatMap((setting) => ['-c', setting])], {
    ...spawnOptions(account, home),
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  server.on('error', () => undefined); // `joinServer` reports it at its deadline
  server.unref();
}

/** The server's log, in a folder that only this process's account can write. */
function logFile({ home }: Cluster): string {
  return join(home, 'server.log');
}

/** The port of a server that runs or has run, from the fourth line of `postmaster.pid`. */
function recordedPort({ account, dataFolder }: Cluster): number | null {
  try {
    const port = Number(readPlainFile(join(dataFolder, 'postmaster.pid'), account?.uid).split('\n')[3]);
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
  } catch {
    return null;
  }
}

/** Opens a connection by which other processes see that this one uses the database. Null: no server runs, or it is being stopped. */
async function connectPresence(cluster: Cluster, port: number | null): Promise<Client | null> {
  const client = await connect(cluster, port, PRESENT_NAME);
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
    connectionString: clusterUrl(cluster, 'postgres', port, 'postgres'),
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
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
  await client.query(LOCK_SQL);
  const databases = await client.query(`SELECT FROM pg_database WHERE datname = 'grantline'`);
  if (databases.rowCount === 0) {
    for (const role of ['grantline_owner', 'grantline'] as const) {
      await client.query(`DROP ROLE IF EXISTS ${role}`);
      await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${passwords[role]}'`);
    }
    await client.query('CREATE DATABASE grantline OWNER grantline_owner');
  }
  await client.query(UNLOCK_SQL);
}

/** Disconnects this process, and stops the server if no other process uses it. `isLastProcess` takes a lock, so that no process joins or leaves meanwhile. */
async function leaveCluster(presenceClient: Client, cluster: Cluster): Promise<void> {
  const client = await presenceClient.query('SELECT').then(
    () => presenceClient,
    () => connect(cluster, recordedPort(cluster), LEAVING_NAME),
  );
  if (client === null || (await isLastProcess(client).catch(() => false))) await stopServer(cluster);
  await client?.end().catch(() => undefined);
}

/** Takes the lock, marks this process as leaving, and finds out whether no other process uses the database. */
async function isLastProcess(client: Client): Promise<boolean> {
  await client.query(LOCK_SQL);
  await client.query(`SET application_name = '${LEAVING_NAME}'`);
  const result = await client.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [PRESENT_NAME]);
  return result.rowCount === 0;
}

/** Stops the server as the database's account, so that an edited pid file can only affect processes of that account. */
async function stopServer({ account, binaries, dataFolder, home }: Cluster): Promise<void> {
  const flags = ['--mode=fast', '--wait', `--timeout=${STOP_DEADLINE_SECONDS}`];
  await runAs(account, home, binaries.pg_ctl, ['stop', `--pgdata=${dataFolder}`, ...flags]).catch(() => undefined); // fails if it has stopped
}

function clusterUrl(cluster: Cluster, role: keyof Cluster['passwords'], port: number, database = 'grantline'): string {
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
