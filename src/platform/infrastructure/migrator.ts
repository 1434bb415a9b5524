import { DataSource } from 'typeorm';
import { sqlMigrations } from './sql-migrations.js';

/** Taken while migrating: TypeORM itself takes no lock, and two starting replicas would race. */
const LOCK = 7_471_002;

/**
 * Applies pending migrations as the owner's role and lets the service's role use what they made.
 * @returns the names of those that were applied.
 */
export async function migrate(migrationUrl: string, serviceUrl: string): Promise<string[]> {
  const source = await new DataSource({
    type: 'postgres',
    url: migrationUrl,
    migrations: sqlMigrations(),
    migrationsTransactionMode: 'each',
    extra: { max: 2 },
  }).initialize();
  const runner = source.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const applied = await source.runMigrations();
    await letServiceUse(runner.query.bind(runner), new URL(serviceUrl).username);
    return applied.map((migration) => migration.name.replace(/-\d{13}$/, ''));
  } finally {
    await runner.query('SELECT pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
    await runner.release();
    await source.destroy();
  }
}

/** How many migrations of this build the database does not have yet. */
export async function pendingMigrations(source: DataSource): Promise<number> {
  const [{ exists }] = await source.query<[{ exists: boolean }]>(
    `SELECT to_regclass('migrations') IS NOT NULL AS exists`,
  );
  const names = sqlMigrations().map((migration) => new migration().name ?? '');
  if (!exists) return names.length;
  const applied = await source.query<{ name: string }[]>('SELECT name FROM migrations');
  return names.filter((name) => !applied.some((row) => row.name === name)).length;
}

/** Rows, not tables: the service's role reads and writes, and may only add to the audit trail. */
async function letServiceUse(query: (sql: string) => Promise<unknown>, encoded: string): Promise<void> {
  const role = decodeURIComponent(encoded);
  const [{ owner }] = (await query('SELECT current_user AS owner')) as [{ owner: string }];
  if (role === '' || role === owner) return;
  const name = `"${role.replaceAll('"', '""')}"`;
  await query(`GRANT USAGE ON SCHEMA public TO ${name}`);
  await query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`);
  await query(`GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO ${name}`);
  await query(`REVOKE INSERT, UPDATE, DELETE ON migrations FROM ${name}`);
  await query(`DO $$ BEGIN
    IF to_regclass('audit_events') IS NOT NULL THEN EXECUTE 'REVOKE UPDATE, DELETE ON audit_events FROM ${name.replaceAll("'", "''")}'; END IF;
  END $$`);
}
