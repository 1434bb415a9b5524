import type { Database } from '../platform/database/database.js';
import type { MigrationWait } from '../platform/database/migration-waits.js';
import { migrate, type SchemaState, schemaState } from '../platform/database/migrator.js';
import type { Settings } from '../platform/settings/settings.js';
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
  const schema = await requireTables(database);
  if (schema.kind === 'behind')
    throw new Error(`${database.name} lacks ${schema.pending} migrations of this version: run "grantline migrate"`);
}

/** @throws Error where there are no tables of any version */
export async function requireTables({ name, url }: Database): Promise<SchemaState> {
  const schema = await atDatabase({ name }, () => schemaState(url));
  if (schema.kind === 'absent')
    throw new Error(
      `${name} is no database of Grantline: correct DATABASE_URL, or make its tables with "grantline migrate"`,
    );
  return schema;
}

/** Applies pending migrations and stops. */
export async function applyMigrations(): Promise<number> {
  return withDatabase('migrate', async ({ settings, database }) => {
    const applied = await migrateSchema(settings, database);
    print(applied.length === 0 ? 'nothing to migrate' : applied.map((name) => `applied ${name}`));
    return 0;
  });
}
