import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinEmbeddedPostgres } from '../../dist/platform/infrastructure/embedded-postgres.js';
import { migrate } from '../../dist/platform/infrastructure/migrator.js';

/** In the environment: the folder of another package with PostgreSQL's programs than the embedded one. */
const PACKAGE = 'GRANTLINE_TEST_POSTGRES_PACKAGE';

/**
 * One PostgreSQL for the whole run: migrated once, copied for each spec (see database.ts). A copy of the stopped cluster is
 * for specs that start one of their own (see embedded-cluster.ts). Needs a build.
 */
export default async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'grantline-test-'));
  chmodSync(folder, 0o755); // otherwise root's cluster lies elsewhere, where nothing removes it
  const other = process.env[PACKAGE];
  const binaries = other === undefined ? undefined : { ...(await import(join(other, 'dist', 'index.js'))) };
  const options = ['fsync=off', 'full_page_writes=off', 'max_connections=300'];
  const start = () => joinEmbeddedPostgres(folder, () => undefined, options, binaries);
  const first = await start();
  await migrate(first.migrationUrl, first.url);
  await first.release();
  const { home, passwords } = JSON.parse(readFileSync(join(folder, 'postgres.json'), 'utf8'));
  const madeData = join(folder, 'made');
  execFileSync('cp', ['-a', join(home, 'data'), madeData]);
  const database = await start();
  const superuser = new URL(database.url);
  superuser.username = 'postgres';
  superuser.password = passwords.postgres;
  superuser.pathname = '/postgres';
  process.env.GRANTLINE_TEST_POSTGRES = JSON.stringify({
    url: database.url,
    migrationUrl: database.migrationUrl,
    superuserUrl: superuser.href,
    made: { data: madeData, passwords },
    binaries,
  });
  globalThis.grantlineTestPostgres = { folder, database };
}
