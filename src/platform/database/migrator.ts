import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import { PooledClient } from './database.js';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '../files/plain-file.js';

/** Minimums for keeping audit events and published versions. Stored in the database, where only the owner's role may change them. */
export interface MinRetention {
  audit: { retentionDays: number };
  acl: { retentionDays: number; retentionVersions: number };
}

interface MigrateOptions {
  minRetention?: MinRetention;
  report?: (wait: MigrationWait) => void;
  waitLimits?: WaitLimits;
}

/** Key of the lock for migrations. Without it two starting replicas would migrate at the same time, because TypeORM takes no lock. */
const MIGRATION_LOCK = 7_471_002;

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Applies pending migrations as the owner's role, each in a transaction, and grants the service's role its rights.
 * @returns the names of the migrations that were applied.
 */
export async function migrate(
  migrationUrl: string,
  serviceUrl: string,
  { minRetention, report = () => undefined, waitLimits }: MigrateOptions = {},
): Promise<string[]> {
  const source = await new DataSource({
    type: 'postgres',
    url: migrationUrl,
    migrations: sqlMigrations(),
    // There is no statement timeout, because a migration may take hours. Keep-alive finds a lost connection.
    extra: {
      ...{ max: 2, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, Client: PooledClient },
      ...{ keepAlive: true, keepAliveInitialDelayMillis: 10_000 },
    },
  }).initialize();
  const runner = source.createQueryRunner();
  const migrationWaits = new MigrationWaits(runner, source, report, waitLimits);
  try {
    await migrationWaits.begin();
    await migrationWaits.retryUntilFree(() => runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]), 0);
    await recordBaselines(runner);
    const namesToApply = await pendingNames(runner);
    await migrationWaits.retryUntilFree(async () => {
      const executor = new MigrationExecutor(source, runner);
      executor.transaction = 'each';
      await executor.executePendingMigrations();
      await grantServiceRights(runner.query.bind(runner), new URL(serviceUrl).username);
      if (minRetention !== undefined) await setMinRetention(runner, minRetention);
    });
    return namesToApply.map((name) => name.replace(/-\d{13}$/, ''));
  } finally {
    await runner.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await runner.release();
    await source.destroy();
  }
}

/** Baselines are the migrations up to LAST_BASELINE. They replace all migrations up to LAST_REPLACED_MIGRATION, whose files are gone. */
const LAST_REPLACED_MIGRATION = '0104-names-that-are-freed';
const LAST_BASELINE = '0111-publications';

/** Records the baselines (migrations that replace older ones) as applied if the last applied migration is LAST_REPLACED_MIGRATION. @throws Error if it is an earlier one */
async function recordBaselines(runner: QueryRunner): Promise<void> {
  const appliedMigrations = await appliedNames(runner);
  const isReplaced = (name: string): boolean => name.slice(0, 4) <= LAST_REPLACED_MIGRATION.slice(0, 4);
  if (appliedMigrations.length === 0 || !appliedMigrations.every(isReplaced)) return;
  if (!appliedMigrations.some((name) => name.startsWith(LAST_REPLACED_MIGRATION)))
    throw new Error(
      `the database lacks ${LAST_REPLACED_MIGRATION}, for which the baselines stand: run "grantline migrate" of the last build that has it, then this one`,
    );
  const baselineNames = migrationNames().filter((name) => name.slice(0, 4) <= LAST_BASELINE.slice(0, 4));
  await runner.query(
    'INSERT INTO migrations (timestamp, name) SELECT right(name, 13)::bigint, name FROM unnest($1::text[]) name',
    [baselineNames],
  );
}

async function setMinRetention(runner: QueryRunner, { audit, acl }: MinRetention): Promise<void> {
  await runner.query('UPDATE audit_retention SET least_days = $1 WHERE least_days <> $1', [audit.retentionDays]);
  await runner.query(
    'UPDATE acl_retention SET least_days = $1, least_versions = $2 WHERE (least_days, least_versions) <> ($1, $2)',
    [acl.retentionDays, acl.retentionVersions],
  );
}

/** The number of migrations of this build that the database lacks. */
export async function pendingMigrations(source: DataSource): Promise<number> {
  return (await pendingNames(source)).length;
}

async function pendingNames(source: DataSource | QueryRunner): Promise<string[]> {
  const appliedMigrations = await appliedNames(source);
  return migrationNames().filter((name) => !appliedMigrations.includes(name));
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
export type SchemaState = { kind: 'current' } | { kind: 'absent' } | { kind: 'behind'; backlog: number };

/** Reads the state of a database's schema as the service's role, without changes. */
export async function schemaState(url: string): Promise<SchemaState> {
  const source = await new DataSource({
    type: 'postgres',
    url,
    extra: { max: 1, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: 30_000, Client: PooledClient },
  }).initialize();
  try {
    if ((await appliedNames(source)).length === 0) return { kind: 'absent' };
    const backlog = await pendingMigrations(source);
    return backlog === 0 ? { kind: 'current' } : { kind: 'behind', backlog };
  } finally {
    await source.destroy();
  }
}

/** The columns of a published version that the service may update. Its text, its own snapshot and its author cannot change. */
const PUBLICATION_STATE = `state, published_at, live_at, broken_at, restore_ended, is_reported,
  later_snapshot, later_snapshot_hash, later_snapshot_at, later_trail_position, later_compiler`;

/**
 * Grants the service's role its rights: it reads and writes rows, changes no tables, and can only add to the audit trail and the published
 * versions. It removes rows past retention by functions of the owner, which no other role may execute.
 */
async function grantServiceRights(query: (sql: string) => Promise<unknown>, encodedRole: string): Promise<void> {
  const role = decodeURIComponent(encodedRole);
  const [{ owner }] = (await query('SELECT current_user AS owner')) as [{ owner: string }];
  if (role === '' || role === owner) return;
  const quotedRole = `"${role.replaceAll('"', '""')}"`;
  await query(`GRANT USAGE ON SCHEMA public TO ${quotedRole}`);
  await query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${quotedRole}`);
  await query(`GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO ${quotedRole}`);
  // The service raises the sequence if a target has a higher version number, so that new versions get still higher ones (docs/decisions/0026).
  await query(`GRANT UPDATE ON SEQUENCE acl_publications_version_seq TO ${quotedRole}`);
  await query(`REVOKE INSERT, UPDATE, DELETE ON migrations, audit_retention, acl_retention FROM ${quotedRole}`);
  await query(`REVOKE UPDATE, DELETE ON audit_events, acl_publications, acl_approvals FROM ${quotedRole}`);
  await query(`GRANT UPDATE (${PUBLICATION_STATE}) ON acl_publications TO ${quotedRole}`);
  await query(`GRANT EXECUTE ON FUNCTION remove_past_audit_events(integer) TO ${quotedRole}`);
  await query(`GRANT EXECUTE ON FUNCTION remove_past_publications(integer[]) TO ${quotedRole}`);
}

/** The folder `migrations`, which is beside `dist` in a build and beside `src` in a checkout. */
const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** TypeORM orders migrations by the 13 digits at the end of their names. */
const TIMESTAMP_BASE = 1_790_000_000_000;

/**
 * The migrations in TypeORM's form, one class for each `NNNN-what-it-does.sql`. They are plain SQL, forward only: a released file is
 * never edited.
 */
function sqlMigrations(): (new () => MigrationInterface & { name: string })[] {
  const files = readdirSync(MIGRATIONS_FOLDER).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => {
    const [, number, intent] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file) ?? [];
    if (number === undefined || intent === undefined) throw new Error(`${file} is not named NNNN-what-it-does.sql`);
    const sql = readFileSync(`${MIGRATIONS_FOLDER}/${file}`, 'utf8');
    return class implements MigrationInterface {
      readonly name = `${number}-${intent}-${TIMESTAMP_BASE + Number(number)}`;

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
  /** The longest wait of a migration's statement for the lock of a table. Meanwhile the replicas' statements on the same table wait, too. */
  lockMs: number;
  /** The pause between two attempts, in which the waiting statements of replicas can run. */
  pauseMs: number;
  /** Limit of all waits together. Less than the 280 s that the chart's Job may take, because the Job also pulls the image. */
  totalMs: number;
}

const WAIT_LIMITS: WaitLimits = { lockMs: 3_000, pauseMs: 5_000, totalMs: 200_000 };

/** A wait of a migration. `obstacle` is a text such as `a lock that is held by pid 4711 (pg_dump of backup)`. */
export interface MigrationWait {
  obstacle: string;
  seconds: number;
}

/** Milliseconds between the server's checks whether the client of a waiting statement is still connected. */
const CONNECTION_CHECK_MS = 2_000;

/** SQLSTATEs of a lock timeout (`lock_not_available`) and a deadlock (`deadlock_detected`). */
const LOCK_ERRORS = /^(55P03|40P01)$/;

/** Retries a migration's statements. Each attempt waits for locks only briefly, so that the service's statements are not blocked for long. */
class MigrationWaits {
  private readonly startedAt = performance.now();
  /** Id of the server process behind the runner's connection. */
  private pid = 0;

  /** @param source gives a second connection, to find out who holds a lock while the runner waits for the lock */
  constructor(
    private readonly runner: QueryRunner,
    private readonly source: DataSource,
    private readonly report: (wait: MigrationWait) => void,
    private readonly waitLimits = WAIT_LIMITS,
  ) {}

  async begin(): Promise<void> {
    await this.runner.query(`SELECT set_config('lock_timeout', $1, false)`, [`${this.waitLimits.lockMs}ms`]);
    await this.runner
      .query(`SELECT set_config('client_connection_check_interval', $1, false)`, [`${CONNECTION_CHECK_MS}ms`])
      .catch(() => undefined); // not supported on every system
    const [{ pid }] = (await this.runner.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
    this.pid = pid;
  }

  /** Repeats `work` until no lock blocks it. @throws Error that names the lock's holders when `totalMs` is over */
  async retryUntilFree<T>(work: () => Promise<T>, pauseMs = this.waitLimits.pauseMs): Promise<T> {
    for (;;) {
      let holdersPromise = Promise.resolve('');
      const lookupTimer = setTimeout(() => {
        holdersPromise = this.lockHoldersText();
      }, this.waitLimits.lockMs / 2);
      try {
        return await work();
      } catch (error) {
        if (!LOCK_ERRORS.test(codeOf(error) ?? '')) throw error;
        await this.waitOnce(`a lock${await holdersPromise}`, pauseMs);
      } finally {
        clearTimeout(lookupTimer);
      }
    }
  }

  /** Reports a wait, and pauses. @throws Error if the pause would exceed `totalMs` */
  private async waitOnce(obstacle: string, pauseMs: number): Promise<void> {
    const waitedMs = performance.now() - this.startedAt;
    const seconds = Math.round(waitedMs / 1000);
    if (waitedMs + pauseMs >= this.waitLimits.totalMs) {
      throw new Error(
        `gave up after ${seconds} s of waiting for ${obstacle}: let it end, or end it; then migrate again`,
      );
    }
    this.report({ obstacle, seconds });
    await delay(pauseMs);
  }

  /** Text such as ` that is held by pid 4711 (pg_dump of backup)`; empty if there are no known holders. */
  private async lockHoldersText(): Promise<string> {
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
