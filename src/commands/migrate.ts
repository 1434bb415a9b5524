import { migrate } from '../platform/infrastructure/migrator.js';
import { print } from './output.js';
import { withDatabase } from './with-database.js';

/** Applies pending migrations and stops. */
export async function applyMigrations(): Promise<void> {
<<<<<<< Updated upstream
  const settings = loadSettings();
  const database = await openDatabase(settings, print);
  try {
    const applied = await migrate(database.migrationUrl, database.url, settings.audit.retentionDays);
=======
  await withDatabase(async ({ database }) => {
    const applied = await migrate(database.migrationUrl, database.url);
>>>>>>> Stashed changes
    print(applied.length === 0 ? 'nothing to migrate' : applied.map((name) => `applied ${name}`).join('\n'));
  });
}
