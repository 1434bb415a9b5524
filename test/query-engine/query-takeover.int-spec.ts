import { randomUUID } from 'node:crypto';
import type { TypeormQueryStore } from '../../src/query-engine/infrastructure/typeorm-query-store.js';
import type { QueryDrivers } from '../../src/query-engine/query-drivers.service.js';
import type { FakeTimers } from '../support/fake-timers.js';
import type { FakeTrino } from '../support/fake-trino.js';
import type { LogBook } from '../support/log-book.js';
import type { TestClock } from '../support/service.js';
import { DriversUnderTest, values } from './drivers-under-test.js';

describe('the drivers of queries, from one replica to another', () => {
  let drivers: DriversUnderTest;
  let engine: FakeTrino;
  let store: TypeormQueryStore;
  let clock: TestClock;
  let timers: FakeTimers;
  let log: LogBook;
  let one: QueryDrivers;
  let other: QueryDrivers;

  beforeAll(async () => {
    drivers = await DriversUnderTest.start();
  });
  afterAll(() => drivers.stop());
  beforeEach(async () => {
    await drivers.renew();
    ({ engine, store, clock, timers, log, one, other } = drivers);
  });

  it('hand rows on wherever they are asked for: another replica takes over in the middle of a page', async () => {
    const id = await drivers.begun('SELECT n');

    expect(values(await drivers.rows(one, id, 0, 2))).toEqual([1, 2]);
    expect(values(await drivers.rows(other, id, 2, 2))).toEqual([3]);
    expect(values(await drivers.rows(one, id, 2, 2))).toEqual([3]);
    expect(values(await drivers.rows(other, id, 3, 2))).toEqual([4, 5]);
    expect(values(await drivers.rows(one, id, 3, 2))).toEqual([4, 5]);
    expect(values(await drivers.rows(other, id, 0, 2))).toBe('gone');
    expect(values(await drivers.rows(one, id, 9, 2))).toBe('unknown');
    expect(values(await drivers.rows(other, id, 5, 2))).toBe('over');
    expect(await drivers.find(id)).toMatchObject({ state: 'finished', rowsReturned: 5 });
  });

  it('adopt the queries of a replica that died, with the page that waited there', async () => {
    const id = await drivers.begun('SELECT n');
    expect(values(await drivers.rows(one, id, 0, 2))).toEqual([1, 2]);
    await other.tick();
    expect(log.at('info')).toEqual([]);

    await drivers.expireLeases();
    await other.tick();

    expect(log.at('info')).toEqual(['a query is driven on after its driver died']);
    expect(values(await drivers.rows(other, id, 2, 9))).toEqual([3]);
  });

  it('let go of what they drive when they stop, so that another goes on at once', async () => {
    const id = await drivers.begun('SELECT n');
    await drivers.rows(one, id, 0, 1);
    const stop = new AbortController();
    const running = one.run(stop.signal);
    await timers.untilWaiting();
    stop.abort();
    await running;
    await other.tick();

    expect(values(await drivers.rows(other, id, 1, 1))).toEqual([2]);
    expect(drivers.asked('DELETE')).toEqual([]);
  });

  it('stop without a word to the engine when another replica drives or the owner has cancelled', async () => {
    const id = await drivers.begun('SELECT n');
    await drivers.rows(other, id, 0, 1);
    await one.tick();
    await store.ownedBy(1).cancel(id, { state: 'finished', truncated: false, updateCount: null }, clock.now());
    await other.tick();

    expect(drivers.asked('DELETE')).toEqual([]);
    expect(values(await drivers.rows(other, id, 1, 1))).toBe('over');
  });

  it('end as lost what died on its way to the engine', async () => {
    const id = randomUUID();
    const query = { id, userId: 1, runAs: 'ana', sql: 'SELECT 1', catalog: null, schema: null, traceToken: 't' };
    await store.reserve({ ...query, createdAt: clock.now(), deadlineAt: drivers.deadlineAt() }, one.driver, 5);
    await drivers.expireLeases();
    await other.tick();

    expect(await drivers.find(id)).toMatchObject({ state: 'failed', error: { code: 'query_lost' } });
  });

  it('end as lost what the engine has forgotten', async () => {
    const id = await drivers.begun('SELECT n');
    await drivers.rows(one, id, 0, 1);
    engine.statements.length = 0;

    expect(values(await drivers.rows(other, id, 1, 1))).toBe('over');
    expect(await drivers.find(id)).toMatchObject({ state: 'failed', error: { code: 'query_lost' } });
  });
});
