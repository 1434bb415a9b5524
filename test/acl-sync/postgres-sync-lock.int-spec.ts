import { Client } from 'pg';
import { type Lease, LeaseLost } from '../../src/acl-sync/domain/run-ports.js';
import { Secret } from '../../src/kernel/secret.js';
import { PostgresSyncLock } from '../../src/acl-sync/infrastructure/postgres-sync-lock.js';
import { asSuperuser, freshDatabase, type TestDatabase } from '../support/database/database.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';
import { until } from '../support/service/until.js';

describe('one run at a time', () => {
  let database: TestDatabase;
  let lock: PostgresSyncLock;
  beforeEach(async () => {
    database = await freshDatabase();
    lock = new PostgresSyncLock(new Secret(database.url));
  });
  afterEach(() => database.drop());

  /** A run that goes on until `end` is called. */
  async function held(): Promise<{ lease: Lease; end: () => Promise<unknown> }> {
    let release: () => void = () => undefined;
    let over: Promise<unknown> = Promise.resolve();
    const lease = await new Promise<Lease>((begun) => {
      over = lock.whileHeld(0, (given) => {
        begun(given);
        return new Promise<void>((ended) => (release = ended));
      });
    });
    return {
      lease,
      end: () => {
        release();
        return over;
      },
    };
  }

  it('hands on what the work returns, and throws what it throws', async () => {
    expect(await lock.whileHeld(0, () => Promise.resolve(7))).toEqual({ kind: 'held', result: 7 });
    await expect(lock.whileHeld(0, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
    expect(await lock.whileHeld(0, () => Promise.resolve(8))).toEqual({ kind: 'held', result: 8 });
  });

  it('is refused while another one goes on, at once or after its patience', async () => {
    const { end } = await held();
    const never = () => Promise.reject(new Error('must not run'));
    expect(await lock.whileHeld(0, never)).toEqual({ kind: 'busy' });
    expect(await lock.whileHeld(1, never)).toEqual({ kind: 'busy' });
    await end();
  });

  it('begins when the other one ends within its patience', async () => {
    const { end } = await held();
    const next = lock.whileHeld(60_000, () => Promise.resolve('mine'));
    await end();
    expect(await next).toEqual({ kind: 'held', result: 'mine' });
  });

  it('gives up where the connection falls silent while it waits', async () => {
    const { end } = await held();
    const proxy = await TcpProxy.to(database.url);
    const waiting = new PostgresSyncLock(new Secret(proxy.url), 5_000).whileHeld(10_000, () => Promise.resolve());
    const givenUp = expect(waiting).rejects.toThrow('timeout');
    const isWaiting = () =>
      asSuperuser(`SELECT 1 / count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
    await until(() =>
      isWaiting().then(
        () => true,
        () => false,
      ),
    );
    proxy.strand();
    await givenUp;
    await end();
    await proxy.down();
  });

  it('belongs to a transaction, however long that is idle: poolers may change sessions between transactions', async () => {
    await asSuperuser(
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET idle_in_transaction_session_timeout = 1`,
    );
    const { lease, end } = await held();
    await lease.confirm();

    const observer = new Client(database.url);
    await observer.connect();
    const { rows } = await observer.query<{ state: string; locks: string[] }>(
      `SELECT state, array(SELECT locktype FROM pg_locks l WHERE l.pid = a.pid AND granted) AS locks
         FROM pg_stat_activity a WHERE application_name = 'grantline acl-sync' AND datname = current_database()`,
    );
    await observer.end();

    expect(rows).toEqual([{ state: 'idle in transaction', locks: expect.arrayContaining(['advisory']) as string[] }]);
    await lease.confirm();
    await end();
  });

  it('confirms nothing once its connection is gone', async () => {
    const { lease, end } = await held();
    await lease.confirm();

    const killer = new Client(database.url);
    await killer.connect();
    await killer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'grantline acl-sync' AND datname = current_database()`);
    await killer.end();

    await expect(lease.confirm()).rejects.toBeInstanceOf(LeaseLost);
    expect(await lock.whileHeld(60_000, () => Promise.resolve('next'))).toEqual({ kind: 'held', result: 'next' });
    await end();
  });
});
