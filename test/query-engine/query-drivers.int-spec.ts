import { DataSource } from 'typeorm';
import type { QueryDrivers } from '../../src/query-engine/query-drivers.service.js';
import type { FakeTimers } from '../support/fake-timers.js';
import type { FakeTrino } from '../support/fake-trino.js';
import type { LogBook } from '../support/log-book.js';
import type { TestClock } from '../support/service.js';
import { until } from '../support/until.js';
import { DriversUnderTest, NUMBERS, values } from './drivers-under-test.js';

describe('the drivers of queries', () => {
  let drivers: DriversUnderTest;
  let engine: FakeTrino;
  let clock: TestClock;
  let timers: FakeTimers;
  let log: LogBook;
  let one: QueryDrivers;

  beforeAll(async () => {
    drivers = await DriversUnderTest.start();
  });
  afterAll(() => drivers.stop());
  beforeEach(async () => {
    await drivers.renew();
    ({ engine, clock, timers, log, one } = drivers);
  });

  it('go on by themselves from a page that was read to its end, and give it again meanwhile', async () => {
    const id = await drivers.begun('SELECT n');
    const first = await drivers.rows(one, id, 0, 2);
    const second = await drivers.rows(one, id, 2, 2);
    clock.advance(5);
    await one.tick();
    await until(() => Promise.resolve(drivers.asked('GET').length === 3));

    expect(values(first)).toEqual([1, 2]);
    expect(await drivers.rows(one, id, 2, 1)).toEqual(second);
    expect(values(await drivers.rows(one, id, 3, 9))).toEqual([4, 5]);
    expect(values(await drivers.rows(one, id, 2, 1))).toBe('gone');
  });

  it('give the last page again after the end, for as long as they remember it', async () => {
    engine.answers('SELECT few', {
      raw: JSON.stringify({ id: engine.nextId, columns: NUMBERS, data: [[1]], stats: {} }),
    });
    const id = await drivers.begun('SELECT few');
    const last = await drivers.rows(one, id, 0, 10);
    expect(last).toMatchObject({ kind: 'page', page: { rows: [[1]], next: null } });
    expect(await drivers.find(id)).toMatchObject({ state: 'finished' });

    expect(await drivers.rows(one, id, 0, 10)).toEqual(last);
    timers.advance(60_001);
    await one.tick();
    expect(values(await drivers.rows(one, id, 0, 10))).toBe('over');
  });

  it('finish what was read, though nobody asks whether more comes', async () => {
    engine.answers('SELECT few', { columns: NUMBERS, data: [[1]] });
    const id = await drivers.begun('SELECT few');
    const last = await drivers.rows(one, id, 0, 10);
    clock.advance(5);
    await one.tick();
    let again = last;
    await until(async () => {
      again = await drivers.rows(one, id, 0, 10);
      return again.kind === 'page' && again.page.next === null;
    });

    expect(values(again)).toEqual(values(last));
    expect(await drivers.find(id)).toMatchObject({ state: 'finished', rowsReturned: 1 });
  });

  it('answer an empty page with the same place when no rows come in time', async () => {
    engine.answers('SELECT slow', { columns: NUMBERS, after: new Promise(() => undefined) });
    const id = await drivers.begun('SELECT slow');
    const waiting = drivers.rows(one, id, 0, 10);
    await timers.untilWaiting();
    timers.advance(10_000);

    expect(await waiting).toEqual({ kind: 'page', page: { columns: [], rows: [], next: 0 } });
  });

  it('wait out a database that is away, and go on', async () => {
    let open: () => void = () => undefined;
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1]], after: new Promise((resolve) => (open = resolve)) });
    const id = await drivers.begun('SELECT n');
    const owner = await new DataSource({ type: 'postgres', url: drivers.database.migrationUrl }).initialize();
    await owner.query('ALTER TABLE queries RENAME TO away');
    open();
    while (log.at('warn').length === 0) await new Promise((resolve) => setImmediate(resolve));
    await owner.query('ALTER TABLE away RENAME TO queries');
    await owner.destroy();
    await one.tick();

    expect(values(await drivers.rows(one, id, 0, 10))).toEqual([1]);
    expect(JSON.stringify(log.lines)).not.toContain('/v1/statement/');
  });
});
