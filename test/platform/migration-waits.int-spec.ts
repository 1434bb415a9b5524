import { Client } from 'pg';
import { migrate, type MigrationWait } from '../../src/platform/database/migrator.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { lockWaiters } from '../support/database/lock-waiters.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';
import { until } from '../support/service/until.js';

/** A migration whose tables refer to accounts, as if it had not been applied. */
const PENDING = '0111-publications';
/** A later one, without whose columns the service gets no rights to them. */
const LATER = '0118-later-snapshots';
const UNDO = `DELETE FROM migrations WHERE name LIKE '${PENDING}%' OR name LIKE '${LATER}%';
  DROP TABLE acl_approvals, acl_publications, acl_runs, acl_retention;
  DROP FUNCTION remove_past_publications;`;
const PATIENCE = { lockMs: 200, pauseMs: 50, totalMs: 600_000 };

describe('a migration whose lock is taken', () => {
  let database: TestDatabase;
  let writer: Client;
  let other: Client;
  let writerPid: number;
  beforeEach(async () => {
    database = await freshDatabase();
    [writer, other] = [database.url, database.migrationUrl].map(
      (url) => new Client({ connectionString: url, application_name: 'a dump' }),
    ) as [Client, Client];
    await Promise.all([writer.connect(), other.connect()]);
    await other.query(UNDO);
    await writer.query('BEGIN');
    await writer.query('LOCK TABLE users IN ROW EXCLUSIVE MODE'); // as a change of an account has it
    const { rows } = await writer.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    writerPid = rows[0]?.pid ?? 0;
  });
  afterEach(async () => {
    await Promise.all([writer.end(), other.end()]);
    await database.drop();
  });

  it('lets others through between its tries, says who holds it, and is applied once that ends', async () => {
    const waits: string[] = [];
    const report = ({ obstacle }: MigrationWait): number => waits.push(obstacle);
    const migrating = migrate(database.migrationUrl, database.url, { report, waitLimits: PATIENCE });
    const held = `a lock that is held by pid ${writerPid} (a dump of grantline)`;
    await until(() => waits.includes(held));
    const changed = await other.query('UPDATE users SET role = role');
    const whileHeld = await other.query(`SELECT FROM migrations WHERE name LIKE '${PENDING}%'`);
    await writer.query('COMMIT');

    expect(await migrating).toEqual([PENDING, LATER]);
    expect(changed.rowCount).toBe(0);
    expect(whileHeld.rowCount).toBe(0);
    expect(await migrate(database.migrationUrl, database.url)).toEqual([]);
  });

  it('is given up at a limit, and leaves nothing of itself', async () => {
    const patience = { lockMs: 1_000, pauseMs: 0, totalMs: 1 };

    await expect(migrate(database.migrationUrl, database.url, { waitLimits: patience })).rejects.toThrow(
      /^gave up after \d+ s of waiting for a lock.*: let it end, or end it; then migrate again$/,
    );
    await other.query('CREATE TABLE acl_publications ()');
  });

  it('says who migrates at the same time, and goes on once that has ended', async () => {
    await writer.query('COMMIT');
    const { rows } = await other.query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid FROM pg_advisory_lock(7471002)',
    );
    const waits: string[] = [];
    const report = ({ obstacle }: MigrationWait): number => waits.push(obstacle);
    const migrating = migrate(database.migrationUrl, database.url, { report, waitLimits: PATIENCE });
    await until(() => waits.includes(`a lock that is held by pid ${rows[0]?.pid} (a dump of grantline_owner)`));
    await other.query('SELECT pg_advisory_unlock(7471002)');

    expect(await migrating).toEqual([PENDING, LATER]);
  });

  it('ends on the server with its process', async () => {
    const proxy = await TcpProxy.to(database.migrationUrl);
    const patience = { ...PATIENCE, lockMs: 600_000 };
    const migrating = migrate(proxy.url, database.url, { waitLimits: patience }).catch(() => 'failed');
    await until(async () => (await lockWaiters(other)).length === 1);
    await proxy.down();

    expect(await migrating).toBe('failed');
    await until(async () => (await lockWaiters(other)).length === 0);
  });
});
