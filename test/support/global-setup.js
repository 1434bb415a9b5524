import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinEmbeddedPostgres } from '../../dist/platform/infrastructure/embedded-postgres.js';
import { migrate } from '../../dist/platform/infrastructure/migrator.js';

/** One PostgreSQL for the whole run: migrated once, copied for each spec (see database.ts). Needs a build. */
export default async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'grantline-test-'));
  const database = await joinEmbeddedPostgres(folder, () => undefined, [
    'fsync=off',
    'full_page_writes=off',
    'max_connections=300',
  ]);
  await migrate(database.migrationUrl, database.url);
  const { passwords } = JSON.parse(readFileSync(join(folder, 'postgres.json'), 'utf8'));
  const superuser = new URL(database.url);
  superuser.username = 'postgres';
  superuser.password = passwords.postgres;
  superuser.pathname = '/postgres';
  process.env.GRANTLINE_TEST_POSTGRES = JSON.stringify({
    url: database.url,
    migrationUrl: database.migrationUrl,
    superuserUrl: superuser.href,
  });
  globalThis.grantlineTestPostgres = { folder, database };
}
