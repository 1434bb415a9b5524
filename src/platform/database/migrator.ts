import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import { PooledClient } from './database.js';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '../files/plain-file.js';

/** The configured retention, which only the owner's role may shorten. */
export interface LeastRetention {
  audit: { retentionDays: number };
  acl: { retentionDays: number; retentionVersions: number };
}

interface Migrating {
  /** Least retention for the service's role; absent: unchanged. */
  least?: LeastRetention;
  report?: (wait: MigrationWait) => void;
  patience?: WaitLimits;
}

/** Key of the lock for migrations: TypeORM takes no lock itself, and two starting replicas would compete. */
const LOCK = 7_471_002;

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Applies pending migrations as the owner's role, each in a transaction, and grants the service's role its rights.
 * @returns the names of those that were applied.
 */
export async function migrate(
  migrationUrl: string,
  serviceUrl: string,
  { least, report = () => undefined, patience }: Migrating = {},
): Promise<string[]> {
  const source = await new DataSource({
    type: 'postgres',
    url: migrationUrl,
    migrations: sqlMigrations(),
    // A migration may take hours: only the end of the network is noticed.
    extra: {
      ...{ max: 2, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, Client: PooledClient },
      ...{ keepAlive: true, keepAliveInitialDelayMillis: 10_000 },
    },
  }).initialize();
  const runner = source.createQueryRunner();
  const waits = new MigrationWaits(runner, source, report, patience);
  try {
    await waits.begin();
    await waits.retryUntilFree(() => runner.query('SELECT pg_advisory_lock($1)', [LOCK]), 0);
    await takeOver(runner);
    const pending = await pendingNames(runner);
    await waits.retryUntilFree(async () => {
      const executor = new MigrationExecutor(source, runner);
      executor.transaction = 'each';
      await executor.executePendingMigrations();
      await grantServiceRights(runner.query.bind(runner), new URL(serviceUrl).username);
      if (least !== undefined) await keepAtLeast(runner, least);
    });
    return pending.map((name) => name.replace(/-\d{13}$/, ''));
  } finally {
    await runner.query('SELECT pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
    await runner.release();
    await source.destroy();
  }
}

/** The last migration before the baselines, which replace all migrations up to it; and the last baseline. */
const BEFORE_BASELINES = '0104-names-that-are-freed';
const LAST_BASELINE = '0111-publications';

/** Records the baselines as applied if the migrations that they replace are. @throws Error if one of those is missing */
async function takeOver(runner: QueryRunner): Promise<void> {
  const applied = await appliedNames(runner);
  const isBefore = (name: string): boolean => name.slice(0, 4) <= BEFORE_BASELINES.slice(0, 4);
  if (applied.length === 0 || !applied.every(isBefore)) return;
  if (!applied.some((name) => name.startsWith(BEFORE_BASELINES)))
    throw new Error(
      `the database lacks ${BEFORE_BASELINES}, for which the baselines stand: run "grantline migrate" of the last build that has it, then this one`,
    );
  const names = migrationNames().filter((name) => name.slice(0, 4) <= LAST_BASELINE.slice(0, 4));
  await runner.query(
    'INSERT INTO migrations (timestamp, name) SELECT right(name, 13)::bigint, name FROM unnest($1::text[]) name',
    [names],
  );
}

async function keepAtLeast(runner: QueryRunner, { audit, acl }: LeastRetention): Promise<void> {
  await runner.query('UPDATE audit_retention SET least_days = $1 WHERE least_days <> $1', [audit.retentionDays]);
  await runner.query(
    'UPDATE acl_retention SET least_days = $1, least_versions = $2 WHERE (least_days, least_versions) <> ($1, $2)',
    [acl.retentionDays, acl.retentionVersions],
  );
}

/** How many migrations of this build the database does not have yet. */
export async function pendingMigrations(source: DataSource): Promise<number> {
  return (await pendingNames(source)).length;
}

async function pendingNames(source: DataSource | QueryRunner): Promise<string[]> {
  const applied = await appliedNames(source);
  return migrationNames().filter((name) => !applied.includes(name));
}

async function appliedNames(source: DataSource | QueryRunner): Promise<string[]> {
  const [{ exists }] = (await source.query(`SELECT to_regclass('migrations') IS NOT NULL AS exists`)) as [
    { exists: boolean },
  ];
  if (!exists) return [];
  return ((await source.query('SELECT name FROM migrations')) as { name: string }[]).map(({ name }) => name);
}

function migrationNames(): string[] {
  return sqlMigrations().map((migration) => new migration().name);
}

/** The state of a database's schema. `absent`: it has none of Grantline's tables. */
export type SchemaState = { kind: 'current' } | { kind: 'absent' } | { kind: 'behind'; pending: number };

/** Reads the state of a database's schema as the service's role, without changes. */
export async function schemaState(url: string): Promise<SchemaState> {
  const source = await new DataSource({
    type: 'postgres',
    url,
    extra: { max: 1, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: 30_000, Client: PooledClient },
  }).initialize();
  try {
    if ((await appliedNames(source)).length === 0) return { kind: 'absent' };
    const pending = await pendingMigrations(source);
    return pending === 0 ? { kind: 'current' } : { kind: 'behind', pending };
  } finally {
    await source.destroy();
  }
}

/** Columns of a version that the service may update: its state. Text, snapshot and author cannot change. */
const PUBLICATION_STATE = 'state, published_at, live_at, broken_at, restore_ended, is_reported';

/**
 * Grants the service's role its rights: it reads and writes rows, changes no tables, and can only add to the audit trail and the published
 * versions. It removes rows past retention by functions of the owner, which no other role may execute.
 */
async function grantServiceRights(query: (sql: string) => Promise<unknown>, encoded: string): Promise<void> {
  const role = decodeURIComponent(encoded);
  const [{ owner }] = (await query('SELECT current_user AS owner')) as [{ owner: string }];
  if (role === '' || role === owner) return;
  const name = `"${role.replaceAll('"', '""')}"`;
  await query(`GRANT USAGE ON SCHEMA public TO ${name}`);
  await query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`);
  await query(`GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO ${name}`);
  // Lets versions continue above the one that the target names (docs/decisions/0026).
  await query(`GRANT UPDATE ON SEQUENCE acl_publications_version_seq TO ${name}`);
  await query(`REVOKE INSERT, UPDATE, DELETE ON migrations, audit_retention, acl_retention FROM ${name}`);
  await query(`REVOKE UPDATE, DELETE ON audit_events, acl_publications, acl_approvals FROM ${name}`);
  await query(`GRANT UPDATE (${PUBLICATION_STATE}) ON acl_publications TO ${name}`);
  await query(`GRANT EXECUTE ON FUNCTION remove_past_audit_events(integer) TO ${name}`);
  await query(`GRANT EXECUTE ON FUNCTION remove_past_publications(integer[]) TO ${name}`);
}

/** `/migrations`, beside `dist` in a build and beside `src` in a checkout. */
const FOLDER = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** TypeORM orders migrations by the 13 digits at the end of their names. */
const EPOCH = 1_790_000_000_000;

/**
 * The migrations in TypeORM's form, one class for each `NNNN-what-it-does.sql`. They are plain SQL, forward only: a released file is
 * never edited.
 */
function sqlMigrations(): (new () => MigrationInterface & { name: string })[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => {
    const [, number, intent] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file) ?? [];
    if (number === undefined || intent === undefined) throw new Error(`${file} is not named NNNN-what-it-does.sql`);
    const sql = readFileSync(`${FOLDER}/${file}`, 'utf8');
    return class implements MigrationInterface {
      readonly name = `${number}-${intent}-${EPOCH + Number(number)}`;

      async up(runner: QueryRunner): Promise<void> {
        await runner.query(sql);
      }

      down(): Promise<void> {
        throw new Error('migrations go forward only');
      }
    };
  });
}

/** Limits of waiting in milliseconds. */
interface WaitLimits {
  /** How long a statement waits for its lock. Meanwhile all statements of the running version on that table queue behind it. */
  lock: number;
  /** The pause between two attempts, in which the queued statements can run. */
  pause: number;
  /** Limit of all waits together. Shorter than the 280 s of the chart's Job, which also include pulling the image. */
  limit: number;
}

const PATIENCE: WaitLimits = { lock: 3_000, pause: 5_000, limit: 200_000 };

/** A wait of a migration, with its seconds so far. */
export interface MigrationWait {
  waitsFor: string;
  seconds: number;
}

/** Milliseconds between the server's checks whether the client of a waiting statement is still connected. */
const CONNECTION_CHECK = 2_000;

/** SQLSTATEs of a lock timeout (`lock_not_available`) and a deadlock (`deadlock_detected`). */
const LOCK_ERRORS = /^(55P03|40P01)$/;

/** Retries a migration's statements, each with a short wait for its locks, so that the waits block nobody for long. */
class MigrationWaits {
  private readonly began = performance.now();
  /** Id of the server process behind the runner's connection. */
  private pid = 0;

  /** @param source gives a second connection, which finds the holders of locks */
  constructor(
    private readonly runner: QueryRunner,
    private readonly source: DataSource,
    private readonly report: (wait: MigrationWait) => void,
    private readonly patience = PATIENCE,
  ) {}

  /** Sets the session's timeouts. */
  async begin(): Promise<void> {
    await this.runner.query(`SELECT set_config('lock_timeout', $1, false)`, [`${this.patience.lock}ms`]);
    await this.runner
      .query(`SELECT set_config('client_connection_check_interval', $1, false)`, [`${CONNECTION_CHECK}ms`])
      .catch(() => undefined); // not supported on every system
    const [{ pid }] = (await this.runner.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
    this.pid = pid;
  }

  /** Repeats `work` until no lock blocks it. @throws Error that names the holders, at the limit */
  async retryUntilFree<T>(work: () => Promise<T>, pause = this.patience.pause): Promise<T> {
    for (;;) {
      let holders = Promise.resolve('');
      const look = setTimeout(() => {
        holders = this.holders();
      }, this.patience.lock / 2);
      try {
        return await work();
      } catch (error) {
        if (!LOCK_ERRORS.test(codeOf(error) ?? '')) throw error;
        await this.waitOnce(`a lock${await holders}`, pause);
      } finally {
        clearTimeout(look);
      }
    }
  }

  /** @throws Error at the limit */
  private async waitOnce(waitsFor: string, pause: number): Promise<void> {
    const waited = performance.now() - this.began;
    const seconds = Math.round(waited / 1000);
    if (waited + pause >= this.patience.limit) {
      throw new Error(
        `gave up after ${seconds} s of waiting for ${waitsFor}: let it end, or end it; then migrate again`,
      );
    }
    this.report({ waitsFor, seconds });
    await delay(pause);
  }

  /** Text such as ` that is held by pid 4711 (pg_dump of backup)`; empty if there are no known holders. */
  private async holders(): Promise<string> {
    const [{ names }] = await this.source
      .query<[{ names: string | null }]>(
        `SELECT string_agg(format('pid %s (%s of %s)', pid, coalesce(nullif(application_name, ''), 'a client'), coalesce(usename, '?')), ', ') AS names
           FROM unnest(pg_blocking_pids($1)) AS pid LEFT JOIN pg_stat_activity USING (pid)`,
        [this.pid],
      )
      .catch(() => [{ names: null }] as const);
    return names === null ? '' : ` that is held by ${names}`;
  }
}
