import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { LogMarker } from '../../kernel/log-marker.js';
import { type Binaries, type Cluster, prepareCluster, runAs, runningAs } from './embedded-cluster.js';
import { openLog, readPlainFile } from '../files/plain-file.js';

export interface EmbeddedDatabase {
  /** Signs in as the service's role, which is no superuser and owns nothing. */
  url: string;
  /** Signs in as the role that owns the schema. */
  migrationUrl: string;
  /** Rejects when the database has ended, and cannot be started again. */
  failure: Promise<never>;
  /** Disconnects. The last process to disconnect stops the database. */
  release(): Promise<void>;
}

const START_DEADLINE_MS = 60_000;
const RELAUNCH_MS = 1_000;
const CONNECT_MS = 5_000;
/** Connections in a row that a server took and did not answer; one that starts or recovers says so at once. */
const MAX_SILENCES = 3;
const STOP_DEADLINE_SECONDS = 10;
const PRESENCE = 'grantline presence';
const LEAVING = 'grantline leaving';

/** One process at a time makes the database, or decides whether it is the last one. */
const LOCK = 'SELECT pg_advisory_lock(7471001)';
const UNLOCK = 'SELECT pg_advisory_unlock(7471001)';

/**
 * The database of a machine with nothing but Node: made on first use in DATA_DIR, on a loopback port, with SCRAM.
 * A running one is joined, also one that a killed process left behind; the last process to leave stops it.
 * @param options further server settings, such as `fsync=off` for tests.
 * @param binaries other programs than the packaged ones: for tests on another version.
 */
export async function joinEmbeddedPostgres(
  dataDir: string,
  report: (line: LogMarker) => void,
  options: readonly string[] = [],
  binaries?: Binaries,
): Promise<EmbeddedDatabase> {
  const cluster = await prepareCluster(dataDir, report, binaries);
  const { client, port } = await enter(cluster, options);
  const presence = new SupervisedPresence(
    client,
    async (leaving) => (await enter(cluster, options, { port, leaving })).client,
    report,
    logFile(cluster),
  );
  return {
    url: url(cluster, 'grantline', port),
    migrationUrl: url(cluster, 'grantline_owner', port),
    failure: presence.failure,
    release: async () => leave(await presence.leave(), cluster, port),
  };
}

/**
 * Joins the server of a cluster, which is started where none runs.
 * @param known the port that this process already uses, and when it no longer wants to
 */
async function enter(
  cluster: Cluster,
  options: readonly string[],
  known?: { port: number; leaving: AbortSignal },
): Promise<{ client: Client; port: number }> {
  const deadline = performance.now() + START_DEADLINE_MS;
  let launchAt = 0;
  let silences = 0;
  for (;;) {
    const port = recordedPort(cluster);
    const client = port === null ? null : await present(cluster, port);
    silences = client === 'silent' ? silences + 1 : 0;
    if (silences === MAX_SILENCES && known === undefined) throw new Error(silence(cluster));
    if (port !== null && client instanceof Client) {
      if (known === undefined || known.port === port) return { client, port };
      await client.end().catch(() => undefined);
      throw new Error(`the embedded database now listens on port ${port}: start this process again`);
    }
    known?.leaving.throwIfAborted();
    if (performance.now() > deadline) {
      throw new Error(
        `the embedded database did not start within ${START_DEADLINE_MS / 1000} s; see ${logFile(cluster)}`,
      );
    }
    // PostgreSQL itself decides whether a server runs already: the pid file belongs to the database's account.
    if (performance.now() >= launchAt) {
      launchAt = performance.now() + RELAUNCH_MS;
      // The port of a server that was killed: other processes wait for it there.
      launch(cluster, options, known?.port ?? (await freePort(port)));
    }
    await delay(100);
  }
}

/** Two processes may start the server at once: PostgreSQL lets one live, and both find that one. */
function launch(cluster: Cluster, options: readonly string[], port: number): void {
  const { account, binaries, data, home } = cluster;
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', ...options];
  const log = openLog(logFile(cluster));
  const server = spawn(binaries.postgres, ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
    ...runningAs(account, home),
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  server.on('error', () => undefined); // seen as a server that never answers, by the deadline
  server.unref();
}

/** In a folder that only this process's account writes. */
function logFile({ home }: Cluster): string {
  return join(home, 'server.log');
}

/** The lines of `postmaster.pid`: the process first, its port fourth. */
function pidFile({ account, data }: Cluster): string[] | null {
  try {
    return readPlainFile(join(data, 'postmaster.pid'), account?.uid).split('\n');
  } catch {
    return null;
  }
}

/** The port of a server that runs or ran. */
function recordedPort(cluster: Cluster): number | null {
  const port = Number(pidFile(cluster)?.[3]);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
}

function silence(cluster: Cluster): string {
  const [pid] = pidFile(cluster) ?? [];
  return `the embedded database (process ${pid}) answers no connection: continue, restart or end that process; see ${logFile(cluster)}`;
}

/** A connection that shows this process's presence. Null: no server runs, or it is being stopped. */
async function present(cluster: Cluster, port: number): Promise<Client | 'silent' | null> {
  const client = await connect(cluster, port, PRESENCE);
  if (!(client instanceof Client)) return client;
  try {
    await ensureDatabase(client, cluster);
    return client;
  } catch {
    await client.end().catch(() => undefined);
    return null;
  }
}

async function connect(cluster: Cluster, port: number, name: string): Promise<Client | 'silent' | null> {
  const client = new Client({
    connectionString: url(cluster, 'postgres', port, 'postgres'),
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: 10_000,
    keepAlive: true,
  });
  client.on('error', () => undefined); // the server went away: the next query fails with it
  try {
    await client.connect();
    return client;
  } catch (error) {
    return error instanceof Error && error.message === 'timeout expired' ? 'silent' : null;
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

/** Stops the server if no other process is present. The lock is held until then, so that none joins or leaves meanwhile. */
async function leave(presence: Client, cluster: Cluster, port: number): Promise<void> {
  // A lost connection is no sign of the other processes: a new one counts them.
  const client = await presence.query('SELECT').then(
    () => presence,
    () => connect(cluster, port, LEAVING),
  );
  const isKnown = client instanceof Client;
  if (!isKnown || (await isLast(client).catch(() => false))) await stop(cluster);
  if (isKnown) await client.end().catch(() => undefined);
}

/** Takes the lock, and no longer counts as present. */
async function isLast(client: Client): Promise<boolean> {
  await client.query(LOCK);
  await client.query(`SET application_name = '${LEAVING}'`);
  const others = await client.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [PRESENCE]);
  return others.rowCount === 0;
}

/** Runs as the database's account, so that an edited pid file only reaches processes of that account. */
async function stop({ account, binaries, data, home }: Cluster): Promise<void> {
  const flags = ['--mode=fast', '--wait', `--timeout=${STOP_DEADLINE_SECONDS}`];
  await runAs(account, home, binaries.pg_ctl, ['stop', `--pgdata=${data}`, ...flags]).catch(() => undefined); // stopped already
}

function url(cluster: Cluster, role: keyof Cluster['passwords'], port: number, database = 'grantline'): string {
  return `postgres://${role}:${cluster.passwords[role]}@127.0.0.1:${port}/${database}`;
}

/** @param wished taken where it is free */
function freePort(wished: number | null): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', (error) => (wished === null ? reject(error) : resolve(freePort(null))));
    server.listen(wished ?? 0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('no free port'));
      });
    });
  });
}

/** Ends of the server within so many milliseconds, after which it is not started again: it would end once more. */
const MAX_ENDS = { count: 5, milliseconds: 600_000 };

/** A process's presence at the embedded database: whenever its connection is lost, it joins again, and starts the server if need be. */
class SupervisedPresence {
  /** Rejects once the database is given up. */
  readonly failure: Promise<never>;
  private readonly leaving = new AbortController();
  private readonly ends: number[] = [];
  private fail: (error: Error) => void = () => undefined;
  private joining: Promise<void> = Promise.resolve();

  /** @param join resolves with a connection to the server, which it starts where none runs; rejects when it does not start */
  constructor(
    private client: Client,
    private readonly join: (leaving: AbortSignal) => Promise<Client>,
    private readonly report: (line: LogMarker) => void,
    private readonly logFile: string,
  ) {
    this.failure = new Promise((_, reject) => (this.fail = reject));
    this.failure.catch(() => undefined); // for commands, which fail by themselves
    this.watch();
  }

  /** The last connection, which is not watched any more. */
  async leave(): Promise<Client> {
    this.leaving.abort();
    await this.joining;
    return this.client;
  }

  private watch(): void {
    this.client.once('end', () => {
      if (!this.leaving.signal.aborted) this.joining = this.joinAgain();
    });
  }

  private async joinAgain(): Promise<void> {
    const now = performance.now();
    this.ends.push(now);
    const recent = this.ends.filter((end) => end > now - MAX_ENDS.milliseconds);
    if (recent.length > MAX_ENDS.count) {
      this.fail(
        new Error(`the embedded database ended ${recent.length} times within ten minutes; see ${this.logFile}`),
      );
      return;
    }
    this.report('the embedded database is gone, starting it again');
    try {
      this.client = await this.join(this.leaving.signal);
      this.watch();
      if (!this.leaving.signal.aborted) this.report('the embedded database is back');
    } catch (error) {
      if (!this.leaving.signal.aborted) this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
