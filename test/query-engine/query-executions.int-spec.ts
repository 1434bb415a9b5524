import { randomUUID } from 'node:crypto';
import { setImmediate as afterwards } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import { QueryStore } from '../../src/query-engine/query.store.js';
import type { QueryExecutions } from '../../src/query-engine/query-executions.service.js';
import { TrinoStatementClient } from '../../src/query-engine/trino-statement-client.js';
import type { FakeTimers } from '../support/fakes/fake-timers.js';
import { failed, type FakeTrino } from '../support/fakes/fake-trino.js';
import type { LogBook } from '../support/fakes/log-book.js';
import type { TestClock } from '../support/fakes/test-clock.js';
import { until } from '../support/service/until.js';
import { ExecutionsUnderTest, NUMBERS, values } from './executions-under-test.js';

describe('query executions', () => {
  let executions: ExecutionsUnderTest;
  let engine: FakeTrino;
  let clock: TestClock;
  let timers: FakeTimers;
  let log: LogBook;
  let one: QueryExecutions;

  beforeAll(async () => {
    executions = await ExecutionsUnderTest.start();
  });
  afterAll(() => executions.stop());
  beforeEach(async () => {
    await executions.renew();
    ({ engine, clock, timers, log, one } = executions);
  });

  it('fetch the next page after one was read to its end, which can be read again meanwhile', async () => {
    const id = await executions.begun('SELECT n');
    const first = await executions.rows(one, id, 0, 2);
    const second = await executions.rows(one, id, 2, 2);
    clock.advance(5);
    await executions.tick(one);
    await until(() => executions.asked('GET').length === 3);

    expect(values(first)).toEqual([1, 2]);
    expect(await executions.rows(one, id, 2, 1)).toEqual(second);
    expect(values(await executions.rows(one, id, 3, 9))).toEqual([4, 5]);
    expect(values(await executions.rows(one, id, 2, 1))).toBe('gone');
  });

  it('fetch the page after the one that a stream reads, and no other one', async () => {
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1]] }, { data: [[2]] }, { data: [[3]] });
    const id = await executions.begun('SELECT n');
    const first = await executions.rows(one, id, 0, Infinity);
    await until(() => executions.asked('GET').length === 2);
    await executions.tick(one);

    expect([values(first), executions.asked('GET')]).toEqual([[1], ['0', '1']]);
    expect(values(await executions.rows(one, id, 1, Infinity))).toEqual([2]);
    // What another replica takes over is the page behind the stream's.
    await until(() => executions.asked('GET').length === 3);
    expect(values(await executions.rows(executions.other, id, 2, 9))).toEqual([3]);
    expect(values(await executions.rows(executions.other, id, 3, 9))).toEqual([]);
    expect(await executions.find(id)).toMatchObject({ state: 'finished', rowsReturned: 3 });
  });

  it('keep the last page for a minute after the end', async () => {
    engine.answers('SELECT few', {
      raw: JSON.stringify({ id: engine.nextId, columns: NUMBERS, data: [[1]], stats: {} }),
    });
    const id = await executions.begun('SELECT few');
    const last = await executions.rows(one, id, 0, 10);
    expect(last).toMatchObject({ kind: 'page', page: { rows: [[1]], next: null } });
    expect(await executions.find(id)).toMatchObject({ state: 'finished' });

    expect(await executions.rows(one, id, 0, 10)).toEqual(last);
    timers.advance(60_001);
    await executions.tick(one);
    expect(values(await executions.rows(one, id, 0, 10))).toBeNull();
  });

  it('finish a query that was read to its end, though no further page is asked for', async () => {
    engine.answers('SELECT few', { columns: NUMBERS, data: [[1]] });
    const id = await executions.begun('SELECT few');
    const last = await executions.rows(one, id, 0, 10);
    clock.advance(5);
    await executions.tick(one);
    let again = last;
    await until(async () => {
      again = await executions.rows(one, id, 0, 10);
      return again?.kind === 'page' && again.page.next === null;
    });

    expect(values(again)).toEqual(values(last));
    expect(await executions.find(id)).toMatchObject({ state: 'finished', rowsReturned: 1 });
  });

  it('ask for no further page before the one of a stream is stored as handed out, and has begun', async () => {
    let open: () => void = () => undefined;
    const after = new Promise<void>((resolve) => (open = resolve));
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1]], after }, { data: [[2]] });
    const id = await executions.begun('SELECT n');
    const { store } = executions;
    const gates: (() => void)[] = [];
    store.save = async (replica, state) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      return QueryStore.prototype.save.call(store, replica, state);
    };
    open();
    await until(() => gates.length === 1);
    const reading = one.rows(id, 0, Infinity);
    gates[0]?.();
    await until(() => gates.length === 2);
    for (let turn = 0; turn < 50; turn += 1) await afterwards();

    expect(executions.asked('GET')).toEqual(['0']);
    store.save = QueryStore.prototype.save.bind(store);
    gates[1]?.();
    const first = await reading;
    for (let turn = 0; turn < 50; turn += 1) await afterwards();
    expect(executions.asked('GET')).toEqual(['0']);
    if (first?.kind === 'page') first.page.confirm();
    await until(() => executions.asked('GET').length === 2);
  });

  /** How often rows of `queries` are updated during the work. */
  async function updatesDuring(work: () => Promise<void>): Promise<number> {
    const owner = await new DataSource({ type: 'postgres', url: executions.database.migrationUrl }).initialize();
    await owner.query(`CREATE TABLE updates (at timestamptz DEFAULT now()); GRANT ALL ON updates TO PUBLIC;
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO updates DEFAULT VALUES; RETURN NULL; END';
      CREATE TRIGGER note AFTER UPDATE ON queries FOR EACH ROW EXECUTE FUNCTION note()`);
    await work();
    const [{ count }] = await owner.query<[{ count: number }]>('SELECT count(*)::int FROM updates');
    await owner.query('DROP TABLE updates; DROP FUNCTION note CASCADE');
    await owner.destroy();
    return count;
  }

  it('store a page for which a reader waits in the statement that hands it out', async () => {
    let open: () => void = () => undefined;
    const after = new Promise<void>((resolve) => (open = resolve));
    engine.answers('SELECT one', { columns: NUMBERS, data: [[1]], after });
    const id = await executions.begun('SELECT one');
    const updates = await updatesDuring(async () => {
      const rows = executions.rows(one, id, 0, 9);
      await timers.untilWaiting();
      open();
      expect(values(await rows)).toEqual([1]);
    });

    expect(updates).toBe(1);
  });

  it('store a page that arrives while a stream reads the one before in the statement that hands it out', async () => {
    let open: () => void = () => undefined;
    const after = new Promise<void>((resolve) => (open = resolve));
    const never = { after: new Promise<void>(() => undefined) };
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1]] }, { data: [[2]], after }, never);
    const { client } = executions;
    let arrived = 0;
    client.advance = async (...request) => {
      const answer = await TrinoStatementClient.prototype.advance.apply(client, request);
      arrived += 1;
      return answer;
    };
    const id = await executions.begun('SELECT n');
    const first = await one.rows(id, 0, Infinity);
    if (first?.kind !== 'page') throw new Error('no page');
    first.page.confirm();
    const updates = await updatesDuring(async () => {
      open();
      await until(() => arrived === 2);
      first.page.release();
      expect(values(await executions.rows(one, id, 1, Infinity))).toEqual([2]);
    });
    client.advance = TrinoStatementClient.prototype.advance.bind(client);

    expect(updates).toBe(1);
  });

  it('answer an empty page with the same cursor when no rows come in time', async () => {
    engine.answers('SELECT slow', { columns: NUMBERS, after: new Promise(() => undefined) });
    const id = await executions.begun('SELECT slow');
    const waiting = executions.rows(one, id, 0, 10);
    await timers.untilWaiting();
    timers.advance(10_000);

    expect(await waiting).toEqual({ kind: 'page', page: { columns: [], rows: [], next: 0 } });
  });

  it('answer every reader in that time, however many wait', async () => {
    engine.answers('SELECT slow', { columns: NUMBERS, after: new Promise(() => undefined) });
    const id = await executions.begun('SELECT slow');
    const readers = [1, 2, 3].map(() => executions.rows(one, id, 0, 10));
    await timers.untilWaiting();
    timers.advance(10_000);
    for (const reader of readers) {
      expect(values(await reader)).toEqual([]);
      if (reader !== readers.at(-1)) await timers.untilWaiting();
      timers.advance(0);
    }
  });

  it('resume after the database was away', async () => {
    let open: () => void = () => undefined;
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1]], after: new Promise((resolve) => (open = resolve)) });
    const id = await executions.begun('SELECT n');
    await executions.withoutDatabase(async () => {
      open();
      await until(() => log.at('warn').length > 0);
    });
    await executions.tick(one);

    expect(values(await executions.rows(one, id, 0, 10))).toEqual([1]);
    expect(JSON.stringify(log.lines)).not.toContain('/v1/statement/');
  });

  it('end a query whose row was stored though the answer of the database was lost', async () => {
    const id = randomUUID();
    const times = { createdAt: clock.now(), deadlineAt: executions.deadlineAt() };
    const query = {
      id,
      userId: 1,
      runAs: 'ana',
      sql: 'SELECT n',
      catalog: null,
      schema: null,
      traceToken: 't',
      ...times,
    };
    const { store } = executions;
    const { page } = await executions.client.submit('SELECT n', sessionFor('ana'), { deadline: Infinity });
    store.add = async (...given) => {
      await QueryStore.prototype.add.apply(store, given);
      throw new Error('Connection terminated unexpectedly');
    };
    await expect(one.begin(query, page)).rejects.toThrow('terminated');
    store.add = QueryStore.prototype.add.bind(store);
    engine.statements.length = 0;
    await executions.tick(one);
    await executions.tick(one);

    await until(async () => (await executions.find(id))?.state === 'failed');
    expect(await executions.find(id)).toMatchObject({ error: { code: 'query_lost' } });
  });

  it('say that they failed, whichever rows are asked for', async () => {
    const broken = failed('DIVISION_BY_ZERO', 'Division by zero');
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1]] }, { data: [[2]] }, broken);
    const id = await executions.begun('SELECT n');
    const first = [await executions.rows(one, id, 0, 1), await executions.rows(one, id, 1, 1)];
    const then = [2, 1, 0, 9].map((row) => executions.rows(one, id, row, 1));

    expect(first.map(values)).toEqual([[1], [2]]);
    expect((await Promise.all(then)).map(values)).toEqual(['ended', 'ended', 'ended', 'ended']);
  });

  it('are not begun anew for a cursor that no answer named', async () => {
    const id = await executions.begun('SELECT n');
    const first = await executions.rows(one, id, 0, 2);

    expect(values(await executions.rows(one, id, 9, 2))).toBe('unknown-place');
    expect(await executions.rows(one, id, 0, 2)).toEqual(first);
    expect(executions.asked('GET')).toEqual(['0']);
  });
});
