import { randomUUID } from 'node:crypto';
import { newExecution } from '../../src/query-engine/domain/execution-state.js';
import { endingWithCode } from '../../src/query-engine/domain/query.js';
import type { QueryStore } from '../../src/query-engine/query.store.js';
import type { QueryExecutions } from '../../src/query-engine/query-executions.service.js';
import type { FakeTimers } from '../support/fakes/fake-timers.js';
import type { ScriptedPage } from '../support/fakes/fake-trino-statement.js';
import type { FakeTrino } from '../support/fakes/fake-trino.js';
import type { LogBook } from '../support/fakes/log-book.js';
import type { TestClock } from '../support/fakes/test-clock.js';
import { until } from '../support/service/until.js';
import { ExecutionsUnderTest, NUMBERS, values } from './executions-under-test.js';

describe('query executions, moving between replicas', () => {
  let executions: ExecutionsUnderTest;
  let engine: FakeTrino;
  let store: QueryStore;
  let clock: TestClock;
  let timers: FakeTimers;
  let log: LogBook;
  let one: QueryExecutions;
  let other: QueryExecutions;

  beforeAll(async () => {
    executions = await ExecutionsUnderTest.start();
  });
  afterAll(() => executions.stop());
  beforeEach(async () => {
    await executions.renew();
    ({ engine, store, clock, timers, log, one, other } = executions);
  });

  it('are taken over by the replica that is asked for rows, in the middle of a page', async () => {
    const id = await executions.begun('SELECT n');

    expect(values(await executions.rows(one, id, 0, 2))).toEqual([1, 2]);
    expect(values(await executions.rows(other, id, 2, 2))).toEqual([3]);
    expect(values(await executions.rows(one, id, 2, 2))).toEqual([3]);
    expect(values(await executions.rows(other, id, 3, 2))).toEqual([4, 5]);
    expect(values(await executions.rows(one, id, 3, 2))).toEqual([4, 5]);
    expect(values(await executions.rows(other, id, 0, 2))).toBe('gone');
    expect(values(await executions.rows(one, id, 9, 2))).toBe('unknown-place');
    expect(values(await executions.rows(other, id, 5, 2))).toEqual([]);
    expect(await executions.find(id)).toMatchObject({ state: 'finished', rowsReturned: 5 });
  });

  it('are adopted after their replica died, with the page that waited there', async () => {
    const id = await executions.begun('SELECT n');
    expect(values(await executions.rows(one, id, 0, 2))).toEqual([1, 2]);
    await executions.tick(other);
    expect(log.at('info')).toEqual([]);

    await executions.expireLeases();
    await executions.tick(other);

    expect(log.at('info')).toEqual(['adopted a query whose replica died']);
    expect(values(await executions.rows(other, id, 2, 9))).toEqual([3]);
  });

  it('are not lost when their replica stops while the engine accepts them, and are taken over at once then', async () => {
    const id = await executions.begun('SELECT n', async () => {
      const stop = new AbortController();
      const running = one.run(stop.signal);
      await timers.untilWaiting();
      stop.abort();
      await running;
      await executions.tick(other);
    });
    expect(await executions.find(id)).toMatchObject({ finishedAt: null, error: null });

    await executions.tick(other);

    expect(log.at('info')).toEqual(['adopted a query whose replica died']);
    expect(values(await executions.rows(other, id, 0, 9))).toEqual([1, 2, 3]);
  });

  it('are released when their replica stops, so that another takes over at once', async () => {
    const id = await executions.begun('SELECT n');
    await executions.rows(one, id, 0, 1);
    const stop = new AbortController();
    const running = one.run(stop.signal);
    await timers.untilWaiting();
    stop.abort();
    await running;
    await executions.tick(other);

    expect(values(await executions.rows(other, id, 1, 1))).toEqual([2]);
    expect(executions.asked('DELETE')).toEqual([]);
  });

  it('end without telling the engine when another replica has taken over or the owner has cancelled', async () => {
    const id = await executions.begun('SELECT n');
    await executions.rows(other, id, 0, 1);
    await executions.tick(one);
    await store.cancel(1, id, { state: 'finished', truncated: false, updateCount: null }, clock.now());
    await executions.tick(other);

    expect(executions.asked('DELETE')).toEqual([]);
    expect(values(await executions.rows(other, id, 1, 1))).toBeNull();
  });

  it('end as lost when the page that waited has no path on the engine', async () => {
    const id = randomUUID();
    const query = { id, userId: 1, runAs: 'ana', sql: 'SELECT 1', catalog: null, schema: null, traceToken: 't' };
    const times = { createdAt: clock.now(), deadlineAt: executions.deadlineAt() };
    await store.add({ ...query, ...times }, newExecution({ ...query, ...times }), one.replica, 5);
    await executions.expireLeases();
    await executions.tick(other);
    await until(async () => (await executions.find(id))?.state === 'failed');

    expect(await executions.find(id)).toMatchObject({ error: { code: 'query_lost' } });
  });

  it('end as lost when the engine has forgotten them', async () => {
    const id = await executions.begun('SELECT n');
    await executions.rows(one, id, 0, 1);
    engine.statements.length = 0;

    expect(values(await executions.rows(other, id, 1, 1))).toBe('ended');
    expect(await executions.find(id)).toMatchObject({ state: 'failed', error: { code: 'query_lost' } });
  });

  it('are executed once, however many readers ask a replica for them at once', async () => {
    const id = await executions.begun('SELECT n');
    const read = await Promise.all([0, 0, 0].map((from) => executions.rows(other, id, from, 2)));

    expect(read.map(values)).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
    expect(executions.asked('GET')).toEqual(['0', '0']); // once by the former replica
  });

  it('are neither delayed nor adopted by their own replica while the engine does not give the page of another', async () => {
    const soonOver = await executions.begun('SELECT n');
    clock.advance(3_590);
    const page: ScriptedPage = { columns: NUMBERS, data: [[1]] };
    engine.answers('SELECT slow', page);
    const slow = await executions.begun('SELECT slow');
    await executions.rows(one, slow, 0, 1);
    await executions.expireLeases();
    await executions.tick(other);
    page.after = new Promise(() => undefined);
    clock.advance(10);
    await other.tick();
    await until(async () => (await executions.find(soonOver))?.error?.code === 'query_timeout');
    await executions.expireLeases();

    expect(await store.claimExpired(other.replica, 9)).toEqual([]);
    await Promise.all([other.tick(), other.tick()]);
    expect(log.at('info')).toEqual(Array(2).fill('adopted a query whose replica died'));
    await store.cancel(1, slow, endingWithCode('query_cancelled'), clock.now());
    await executions.tick(other);
  });
});
