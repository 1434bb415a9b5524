import { print } from './output.js';
import { migrateSchema } from './schema.js';
import { withDatabase } from './with-database.js';

/** Applies pending migrations and stops. */
export async function applyMigrations(): Promise<number> {
  return withDatabase('migrate', async ({ settings, database }) => {
    const applied = await migrateSchema(settings, database);
    print(applied.length === 0 ? 'nothing to migrate' : applied.map((name) => `applied ${name}`).join('\n'));
    return 0;
  });
}
