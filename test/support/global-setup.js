import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { joinEmbeddedPostgres } from '../../dist/platform/database/embedded-postgres.js';
import { migrate } from '../../dist/platform/database/migrator.js';
import { roomForDatabases } from './database/room-for-databases.js';

/** In the environment: the folder of another package with PostgreSQL's programs than the embedded one. */
const PACKAGE = 'GRANTLINE_TEST_POSTGRES_PACKAGE';
/** Nothing here outlives a crash, is replicated, or grows so old that it needs a vacuum, for which each database is visited. */
const OPTIONS = [
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'autovacuum=off',
  'max_connections=300',
];

/**
 * One PostgreSQL for the whole run: migrated once, copied for each spec (see database.ts). Copies of stopped clusters are
 * for specs that start one of their own (see embedded-cluster.ts). Needs a build.
 */
export default async function setUp() {
  const folder = mkdtempSync(join(roomForDatabases(), 'grantline-test-'));
  chmodSync(folder, 0o755); // otherwise root's cluster lies elsewhere, where nothing removes it
  const other = process.env[PACKAGE];
  const binaries = other === undefined ? undefined : { ...(await import(join(other, 'dist', 'index.js'))) };
  const { home, passwords } = await migrated(folder, binaries);
  const made = { data: join(folder, 'made'), passwords };
  execFileSync('cp', ['-a', join(home, 'data'), made.data]);
  const embedded = binaries === undefined ? made : clusterIn(await migrated(join(folder, 'embedded')));
  const database = await joinEmbeddedPostgres(folder, () => undefined, OPTIONS, binaries);
  const superuser = new URL(database.url);
  superuser.username = 'postgres';
  superuser.password = passwords.postgres;
  superuser.pathname = '/postgres';
  process.env.GRANTLINE_TEST_POSTGRES = JSON.stringify({
    url: database.url,
    migrationUrl: database.migrationUrl,
    superuserUrl: superuser.href,
    made,
    embedded,
    binaries,
    copied: binaries === undefined ? 'STRATEGY file_copy' : '', // from 15 on there is another one, which is the default
  });
  globalThis.grantlineTestPostgres = { folder, database };
}

/** Makes a cluster with the schema, and stops it. */
async function migrated(folder, binaries) {
  const database = await joinEmbeddedPostgres(folder, () => undefined, OPTIONS, binaries);
  await migrate(database.migrationUrl, database.url);
  await database.release();
  return JSON.parse(readFileSync(join(folder, 'postgres.json'), 'utf8'));
}

function clusterIn({ home, passwords }) {
  return { data: join(home, 'data'), passwords };
}
