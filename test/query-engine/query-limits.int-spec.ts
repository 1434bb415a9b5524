import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import type { QueryRow } from '../../src/query-engine/infrastructure/query.entity.js';
import type { TypeormQueryStore } from '../../src/query-engine/infrastructure/typeorm-query-store.js';
import type { QueryDrivers } from '../../src/query-engine/query-drivers.service.js';
import type { FakeTimers } from '../support/fake-timers.js';
import type { FakeTrino } from '../support/fake-trino.js';
import type { TestClock } from '../support/service.js';
import { DriversUnderTest } from './drivers-under-test.js';

describe('the drivers of queries, at the limits of a query', () => {
  let drivers: DriversUnderTest;
  let engine: FakeTrino;
  let source: DataSource;
  let store: TypeormQueryStore;
  let clock: TestClock;
  let timers: FakeTimers;
  let one: QueryDrivers;

  beforeAll(async () => {
    drivers = await DriversUnderTest.start();
  });
  afterAll(() => drivers.stop());
  beforeEach(async () => {
    await drivers.renew();
    ({ engine, source, store, clock, timers, one } = drivers);
  });

  it('tell the engine every minute that a page still waits, and cancel what nobody fetches for 300 s', async () => {
    const id = await drivers.begun('SELECT n');
    await drivers.rows(one, id, 0, 1);
    clock.advance(299);
    timers.advance(59_999);
    await one.tick();
    expect(drivers.asked('HEAD')).toEqual([]);
    timers.advance(1);
    await one.tick();
    await one.tick();
    expect(drivers.asked('HEAD')).toEqual(['0']);

    clock.advance(1);
    await one.tick();

    expect(await drivers.find(id)).toMatchObject({ state: 'cancelled', error: { code: 'query_abandoned' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('end what takes longer than it may, counted from the POST', async () => {
    const id = await drivers.begun('SELECT n');
    clock.advance(3_600);
    await one.tick();

    expect(await drivers.find(id)).toMatchObject({ state: 'failed', error: { code: 'query_timeout' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('cancel the queries of a person who was deactivated', async () => {
    const id = await drivers.begun('SELECT n');
    await source.query('UPDATE users SET is_active = false');
    await one.tick();

    expect(await drivers.find(id)).toMatchObject({ state: 'cancelled', error: { code: 'account_deactivated' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('let in no more of one person at once than may be alive, however many ask together', async () => {
    const query = { userId: 1, runAs: 'ana', sql: 'SELECT 1', catalog: null, schema: null, traceToken: 't' };
    const times = { createdAt: clock.now(), deadlineAt: drivers.deadlineAt() };
    const reserved = await Promise.all(
      Array.from({ length: 8 }, () => store.reserve({ ...query, ...times, id: randomUUID() }, one.driver, 3)),
    );

    expect(reserved.filter((got) => got)).toHaveLength(3);
  });

  it('keep no capability of the engine once a query has ended, and no query past its retention', async () => {
    const id = await drivers.begun('SELECT n');
    await store.ownedBy(1).cancel(id, { state: 'finished', truncated: false, updateCount: null }, clock.now());
    const [row] = await source.query<QueryRow[]>('SELECT next_path, page_path, driver FROM queries');
    expect(row).toEqual({ next_path: null, page_path: null, driver: null });

    clock.advance(7 * 86_400 + 1);
    await one.tick();

    expect(await drivers.find(id)).toBeNull();
  });

  it('keep a bounded history of each person: the newest 16 MiB of SQL, the older forgotten', async () => {
    const query = { userId: 1, runAs: 'ana', catalog: null, schema: null, traceToken: 't' };
    const ids: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      const id = randomUUID();
      const times = { createdAt: clock.now(), deadlineAt: drivers.deadlineAt() };
      await store.reserve({ ...query, ...times, id, sql: `${i}`.padEnd(1_048_576, 'x') }, one.driver, 5);
      if (i > 0)
        await store.end(id, one.driver, { state: 'finished', truncated: false, updateCount: null }, clock.now());
      ids.push(id);
      clock.advance(1);
    }
    const found = await Promise.all(ids.map(async (id) => (await drivers.find(id))?.sql.length ?? null));

    expect(found).toEqual([1_048_576, ...Array<null>(3).fill(null), ...Array<number>(16).fill(1_048_576)]);
  });

  it('say the beginning of a long text in a list, and the whole of one query', async () => {
    const query = { userId: 1, runAs: 'ana', catalog: null, schema: null, traceToken: 't' };
    const times = { createdAt: clock.now(), deadlineAt: drivers.deadlineAt() };
    const [short, long] = ['é'.repeat(1_000), 'é'.repeat(1_001)];
    const ids = [randomUUID(), randomUUID()];
    await store.reserve({ ...query, ...times, id: ids[0] ?? '', sql: short }, one.driver, 5);
    clock.advance(1);
    await store.reserve({ ...query, ...times, createdAt: clock.now(), id: ids[1] ?? '', sql: long }, one.driver, 5);
    const listed = await store.ownedBy(1).page(null, 10);

    expect(listed.map(({ sql, sqlTruncated }) => [sql, sqlTruncated])).toEqual([
      [short, true],
      [short, false],
    ]);
    expect(await drivers.find(ids[1] ?? '')).toMatchObject({ sql: long, sqlTruncated: false });
  });
});
