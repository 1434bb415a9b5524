import { type Database, openDatabase } from '../platform/database/database.js';
import { createPino, PinoLog } from '../platform/log/pino-log.js';
import type { Log } from '../platform/log/log.js';
import { loadSettings, type SettingsCommand } from '../platform/settings/settings-loader.js';
import type { Settings } from '../platform/settings/settings.js';
import { Lifetime } from './lifetime.js';
import { print, printRemark } from './output.js';
import { migrate, type MigrationWait, type SchemaState, schemaState } from '../platform/database/migrator.js';
import { runOnDatabase } from './start-failure.js';

export interface CommandContext {
  settings: Settings;
  /** The log, which goes to standard error, because standard output is for the command's answer. */
  log: Log;
  database: Database;
  commandLifetime: Lifetime;
}

/** Whether a command may create a database. Other commands may not: in a wrong folder they would answer from an empty database. */
export function mayCreateDatabase(command: SettingsCommand): boolean {
  return command === 'migrate' || command === 'users create-admin';
}

/** Runs a command's work on the database. Closes the database afterwards, also if the work fails or a signal ends it. */
export async function withDatabase<T>(
  command: SettingsCommand,
  work: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const settings = await loadSettings(command);
  const log = new PinoLog(createPino({ ...settings.log, level: 'warn' }, process.stderr));
  const lifetime = new Lifetime(log);
  return lifetime.run(async () => {
    const databasePromise = openDatabase(settings, { mayCreate: mayCreateDatabase(command), report: printRemark });
    const database = await lifetime.open(databasePromise, (openedDatabase) => openedDatabase.release());
    printRemark(`database: ${database.name}`);
    return work({ settings, log, database, commandLifetime: lifetime });
  });
}

/** Applies pending migrations. @returns the names of those that were applied */
export async function migrateSchema(
  settings: Settings,
  database: Database,
  report = ({ obstacle, seconds }: MigrationWait) => printRemark(`waiting for ${obstacle}: ${seconds} s`),
): Promise<string[]> {
  const { url, migrationUrl } = database;
  const setting = migrationUrl === url ? 'DATABASE_URL' : 'DATABASE_MIGRATION_URL';
  return runOnDatabase(database, () => migrate(migrationUrl, url, { minRetention: settings, report }), setting);
}

/** Checks the schema. @throws Error if the schema is missing, or too old for this version */
export async function requireSchema(database: Database): Promise<void> {
  const schema = await requireTables(database);
  if (schema.kind === 'behind')
    throw new Error(`${database.name} lacks ${schema.backlog} migrations of this version: run "grantline migrate"`);
}

/** Reads the state of the schema. @throws Error if the database has no tables of any version */
export async function requireTables({ name, url }: Database): Promise<SchemaState> {
  const schema = await runOnDatabase({ name }, () => schemaState(url));
  if (schema.kind === 'absent')
    throw new Error(
      `${name} is no database of Grantline: correct DATABASE_URL, or make its tables with "grantline migrate"`,
    );
  return schema;
}

export async function applyMigrations(): Promise<number> {
  return withDatabase('migrate', async ({ settings, database }) => {
    const appliedMigrations = await migrateSchema(settings, database);
    print(appliedMigrations.length === 0 ? 'nothing to migrate' : appliedMigrations.map((name) => `applied ${name}`));
    return 0;
  });
}
