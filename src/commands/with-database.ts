import { type Database, openDatabase } from '../platform/database/database.js';
import { createPino, PinoLog } from '../platform/log/pino-log.js';
import type { Log } from '../platform/log/log.js';
import { loadSettings, type SettingsUser } from '../platform/settings/settings-loader.js';
import type { Settings } from '../platform/settings/settings.js';
import { Lifetime } from './lifetime.js';
import { print, remark } from './output.js';
import { migrate, type MigrationWait, type SchemaState, schemaState } from '../platform/database/migrator.js';
import { runOnDatabase } from './start-failure.js';

/** The context of a command that uses the database. */
export interface CommandContext {
  settings: Settings;
  /** Writes to standard error, because standard output is the command's answer. */
  log: Log;
  database: Database;
  lifetime: Lifetime;
}

/** Whether a command may create an empty database. Others, called in a wrong folder, would give answers from an empty one. */
export function mayCreate(command: SettingsUser): boolean {
  return command === 'migrate' || command === 'users create-admin';
}

/** Runs a command's work on the database, and releases it also when the work fails or a signal ends it. */
export async function withDatabase<T>(
  command: SettingsUser,
  work: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const settings = await loadSettings(command);
  const log = new PinoLog(createPino({ ...settings.log, level: 'warn' }, process.stderr));
  const lifetime = new Lifetime(log);
  return lifetime.run(async () => {
    const opening = openDatabase(settings, { mayCreate: mayCreate(command), report: remark });
    const database = await lifetime.open(opening, (opened) => opened.release());
    remark(`database: ${database.name}`);
    return work({ settings, log, database, lifetime });
  });
}

/** Applies pending migrations. @returns the names of those that were applied */
export async function migrateSchema(
  settings: Settings,
  database: Database,
  report = ({ waitsFor, seconds }: MigrationWait) => remark(`waiting for ${waitsFor}: ${seconds} s`),
): Promise<string[]> {
  const { url, migrationUrl } = database;
  const setting = migrationUrl === url ? 'DATABASE_URL' : 'DATABASE_MIGRATION_URL';
  return runOnDatabase(database, () => migrate(migrationUrl, url, { least: settings, report }), setting);
}

/** @throws Error if the schema is missing, or too old for this version */
export async function requireSchema(database: Database): Promise<void> {
  const schema = await requireTables(database);
  if (schema.kind === 'behind')
    throw new Error(`${database.name} lacks ${schema.pending} migrations of this version: run "grantline migrate"`);
}

/** @throws Error if the database has no tables of any version */
export async function requireTables({ name, url }: Database): Promise<SchemaState> {
  const schema = await runOnDatabase({ name }, () => schemaState(url));
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
