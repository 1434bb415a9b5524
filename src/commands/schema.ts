import type { Database } from '../platform/database.js';
import type { MigrationWait } from '../platform/infrastructure/migration-waits.js';
import { migrate, schemaState } from '../platform/infrastructure/migrator.js';
import type { Settings } from '../platform/settings.js';
import { print, remark } from './output.js';
import { atDatabase } from './start-failure.js';
import { withDatabase } from './with-database.js';

/** Applies pending migrations. @returns the names of those that were applied */
export async function migrateSchema(
  settings: Settings,
  database: Database,
  report: (wait: MigrationWait) => void = remarkWait,
): Promise<string[]> {
  const { url, migrationUrl } = database;
  const setting = migrationUrl === url ? 'DATABASE_URL' : 'DATABASE_MIGRATION_URL';
  return atDatabase(database, () => migrate(migrationUrl, url, { least: settings, report }), setting);
}

function remarkWait({ waitsFor, seconds }: MigrationWait): void {
  remark(`waiting for ${waitsFor}: ${seconds} s`);
}

/** @throws Error where there is nothing that this version could read */
export async function requireSchema(database: Database): Promise<void> {
  const { name, url } = database;
  const schema = await atDatabase(database, () => schemaState(url));
  if (schema.kind === 'absent')
    throw new Error(
      `${name} is no database of Grantline: correct DATABASE_URL, or make its tables with "grantline migrate"`,
    );
  if (schema.kind === 'behind')
    throw new Error(`${name} lacks ${schema.pending} migrations of this version: run "grantline migrate"`);
}

/** Applies pending migrations and stops. */
export async function applyMigrations(): Promise<number> {
  return withDatabase('migrate', async ({ settings, database }) => {
    const applied = await migrateSchema(settings, database);
    print(applied.length === 0 ? 'nothing to migrate' : applied.map((name) => `applied ${name}`));
    return 0;
  });
}
