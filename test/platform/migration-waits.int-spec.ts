import { Client } from 'pg';
import type { MigrationWait } from '../../src/platform/infrastructure/migration-waits.js';
import { migrate } from '../../src/platform/infrastructure/migrator.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { lockWaiters } from '../support/database/lock-waiters.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';
import { until } from '../support/service/until.js';

/** A migration of two tables, as if it had not been applied. */
const PENDING = '0086-rechecks-at-the-provider';
const UNDO = `DELETE FROM migrations WHERE name LIKE '${PENDING}%';
  ALTER TABLE oidc_codes DROP COLUMN refresh_token;
  ALTER TABLE oidc_sessions DROP COLUMN refresh_token, DROP COLUMN asked_at;`;
const PATIENCE = { lock: 200, pause: 50, limit: 600_000 };

describe('a migration whose lock is taken', () => {
  let database: TestDatabase;
  let reader: Client;
  let other: Client;
  let readerPid: number;
  beforeEach(async () => {
    database = await freshDatabase();
    [reader, other] = [database.url, database.migrationUrl].map(
      (url) => new Client({ connectionString: url, application_name: 'a dump' }),
    ) as [Client, Client];
    await Promise.all([reader.connect(), other.connect()]);
    await other.query(UNDO);
    await reader.query('BEGIN');
    const { rows } = await reader.query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid FROM oidc_sessions RIGHT JOIN (SELECT) one ON true',
    );
    readerPid = rows[0]?.pid ?? 0;
  });
  afterEach(async () => {
    await Promise.all([reader.end(), other.end()]);
    await database.drop();
  });

  it('lets others through between its tries, says who holds it, and is applied once that ends', async () => {
    const waits: string[] = [];
    const report = ({ waitsFor }: MigrationWait): number => waits.push(waitsFor);
    const migrating = migrate(database.migrationUrl, database.url, { report, patience: PATIENCE });
    const held = `a lock that is held by pid ${readerPid} (a dump of grantline)`;
    await until(() => waits.includes(held));
    const { rows } = await other.query('SELECT count(*)::int AS sessions FROM oidc_sessions');
    const whileHeld = await other.query(`SELECT FROM migrations WHERE name LIKE '${PENDING}%'`);
    await reader.query('COMMIT');

    expect(await migrating).toEqual([PENDING]);
    expect(rows).toEqual([{ sessions: 0 }]);
    expect(whileHeld.rowCount).toBe(0);
    expect(await migrate(database.migrationUrl, database.url)).toEqual([]);
  });

  it('is given up at a limit, and leaves nothing of itself', async () => {
    const patience = { lock: 1_000, pause: 0, limit: 1 };

    await expect(migrate(database.migrationUrl, database.url, { patience })).rejects.toThrow(
      /^gave up after \d+ s of waiting for a lock.*: let it end, or end it; then migrate again$/,
    );
    await other.query('ALTER TABLE oidc_codes ADD COLUMN refresh_token text');
  });

  it('says who migrates at the same time, and goes on once that has ended', async () => {
    await reader.query('COMMIT');
    const { rows } = await other.query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid FROM pg_advisory_lock(7471002)',
    );
    const waits: string[] = [];
    const report = ({ waitsFor }: MigrationWait): number => waits.push(waitsFor);
    const migrating = migrate(database.migrationUrl, database.url, { report, patience: PATIENCE });
    await until(() => waits.includes(`a lock that is held by pid ${rows[0]?.pid} (a dump of grantline_owner)`));
    await other.query('SELECT pg_advisory_unlock(7471002)');

    expect(await migrating).toEqual([PENDING]);
  });

  it('ends on the server with its process', async () => {
    const proxy = await TcpProxy.to(database.migrationUrl);
    const patience = { ...PATIENCE, lock: 600_000 };
    const migrating = migrate(proxy.url, database.url, { patience }).catch(() => 'failed');
    await until(async () => (await lockWaiters(other)).length === 1);
    await proxy.down();

    expect(await migrating).toBe('failed');
    await until(async () => (await lockWaiters(other)).length === 0);
  });
});
