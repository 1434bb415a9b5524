import { openDatabase } from '../platform/database.js';
import { migrate } from '../platform/infrastructure/migrator.js';
import { loadSettings } from '../platform/settings-loader.js';
import { print } from './output.js';

/** Applies pending migrations and stops. */
export async function applyMigrations(): Promise<void> {
  const settings = loadSettings();
  const database = await openDatabase(settings, print);
  try {
    const applied = await migrate(database.migrationUrl, database.url, settings.audit.retentionDays);
    print(applied.length === 0 ? 'nothing to migrate' : applied.map((name) => `applied ${name}`).join('\n'));
  } finally {
    await database.release();
  }
}
