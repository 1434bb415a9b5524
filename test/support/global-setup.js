import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinEmbeddedPostgres } from '../../dist/platform/infrastructure/embedded-postgres.js';
import { migrate } from '../../dist/platform/infrastructure/migrator.js';

/** In the environment: the folder of another package with PostgreSQL's programs than the embedded one. */
const PACKAGE = 'GRANTLINE_TEST_POSTGRES_PACKAGE';

/** One PostgreSQL for the whole run: migrated once, copied for each spec (see database.ts). Needs a build. */
export default async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'grantline-test-'));
  const other = process.env[PACKAGE];
  const binaries = other === undefined ? undefined : { ...(await import(join(other, 'dist', 'index.js'))) };
  const options = ['fsync=off', 'full_page_writes=off', 'max_connections=300'];
  const database = await joinEmbeddedPostgres(folder, () => undefined, options, binaries);
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
    binaries,
  });
  globalThis.grantlineTestPostgres = { folder, database };
}
