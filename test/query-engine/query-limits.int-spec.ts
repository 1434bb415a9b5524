import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { newExecution, type NewQuery } from '../../src/query-engine/domain/execution-state.js';
import type { QueryStore } from '../../src/query-engine/query.store.js';
import type { QueryExecutions } from '../../src/query-engine/query-executions.service.js';
import type { FakeTimers } from '../support/fakes/fake-timers.js';
import type { ScriptedPage } from '../support/fakes/fake-trino-statement.js';
import type { FakeTrino } from '../support/fakes/fake-trino.js';
import type { TestClock } from '../support/fakes/test-clock.js';
import { until } from '../support/service/until.js';
import { ExecutionsUnderTest, NUMBERS, values } from './executions-under-test.js';

const NEVER = new Promise<void>(() => undefined);

describe('query executions, at the limits of a query', () => {
  let executions: ExecutionsUnderTest;
  let engine: FakeTrino;
  let source: DataSource;
  let store: QueryStore;
  let clock: TestClock;
  let timers: FakeTimers;
  let one: QueryExecutions;
  let other: QueryExecutions;

  beforeAll(async () => {
    executions = await ExecutionsUnderTest.start();
  });
  afterAll(() => executions.stop());
  beforeEach(async () => {
    await executions.renew();
    ({ engine, source, store, clock, timers, one, other } = executions);
  });

  const add = (query: NewQuery, mostRunning = 5): Promise<boolean> =>
    store.add(query, newExecution(query), one.replica, mostRunning);

  it('keep an unread page alive on the engine, and cancel after 300 s without a reader', async () => {
    const id = await executions.begun('SELECT n');
    await executions.rows(one, id, 0, 1);
    clock.advance(299);
    timers.advance(59_999);
    await executions.tick(one);
    expect(executions.asked('HEAD')).toEqual([]);
    timers.advance(1);
    await executions.tick(one);
    await executions.tick(one);
    expect(executions.asked('HEAD')).toEqual(['0']);

    clock.advance(1);
    await executions.tick(one);

    expect(await executions.find(id)).toMatchObject({ state: 'cancelled', error: { code: 'query_abandoned' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('are not cancelled while a reader receives a page, but 300 s after it', async () => {
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1]] }, { data: [[2]] });
    const id = await executions.begun('SELECT n');
    const first = await one.rows(id, 0, Infinity);
    if (first?.kind === 'page') first.page.confirm();
    await until(() => executions.asked('GET').length === 2);
    for (let second = 0; second < 600; second += 5) {
      clock.advance(5);
      await executions.tick(one);
    }
    if (first?.kind === 'page') first.page.release();
    clock.advance(299);
    await executions.tick(one);
    expect(await executions.find(id)).toMatchObject({ state: 'running' });
    clock.advance(1);
    await executions.tick(one);

    expect(await executions.find(id)).toMatchObject({ state: 'cancelled', error: { code: 'query_abandoned' } });
  });

  it('end at QUERY_MAX_SECONDS, counted from the POST', async () => {
    const id = await executions.begun('SELECT n');
    clock.advance(3_600);
    await executions.tick(one);

    expect(await executions.find(id)).toMatchObject({ state: 'failed', error: { code: 'query_timeout' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it.each<[string, number, string, ScriptedPage]>([
    ['query_timeout', 3_600, 'SELECT slow', { columns: NUMBERS, after: NEVER }],
    ['query_abandoned', 300, 'SELECT few', { columns: NUMBERS, data: [[1]] }],
  ])('end with %s while readers wait for a page that the engine does not give', async (code, seconds, sql, page) => {
    engine.answers(sql, page);
    const id = await executions.begun(sql);
    await (page.data === undefined ? Promise.resolve() : executions.rows(one, id, 0, 1));
    await executions.expireLeases();
    await executions.tick(other);
    page.after = NEVER;
    const readers = [executions.rows(other, id, 0, 1), executions.rows(other, id, 0, 1)];
    clock.advance(seconds);
    await executions.tick(other);

    expect((await Promise.all(readers)).map(values)).toEqual(['ended', 'ended']);
    expect(await executions.find(id)).toMatchObject({ error: { code } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('cancel the queries of a deactivated account', async () => {
    const id = await executions.begun('SELECT n');
    await source.query('UPDATE users SET is_active = false');
    await executions.tick(one);

    expect(await executions.find(id)).toMatchObject({ state: 'cancelled', error: { code: 'account_deactivated' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('are limited for each user, however many are submitted at once', async () => {
    const query = { userId: 1, runAs: 'ana', sql: 'SELECT 1', catalog: null, schema: null, traceToken: 't' };
    const times = { createdAt: clock.now(), deadlineAt: executions.deadlineAt() };
    const reserved = await Promise.all(
      Array.from({ length: 8 }, () => add({ ...query, ...times, id: randomUUID() }, 3)),
    );

    expect(reserved.filter((got) => got)).toHaveLength(3);
  });

  it('keep no capability of the engine after the end, and no query past its retention', async () => {
    const id = await executions.begun('SELECT n');
    await store.cancel(1, id, { state: 'finished', truncated: false, updateCount: null }, clock.now());
    const [row] = await source.query<unknown[]>('SELECT next_path, page_path, driver FROM queries');
    expect(row).toEqual({ next_path: null, page_path: null, driver: null });

    clock.advance(7 * 86_400 + 1);
    await executions.tick(one);

    expect(await executions.find(id)).toBeNull();
  });

  it('keep a bounded history of each user: the newest 16 MiB of SQL', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      const sql = `${i}`.padEnd(1_048_576, 'x');
      if (i === 0) engine.answers(sql, { columns: NUMBERS, data: [[1]] }); // unread, so that it does not end
      const id = await executions.begun(sql);
      if (i > 0) await until(async () => (await executions.find(id))?.state === 'failed');
      ids.push(id);
      clock.advance(1);
    }
    await executions.tick(one);
    const found = await Promise.all(ids.map(async (id) => (await executions.find(id))?.sql.length ?? null));

    expect(found).toEqual([1_048_576, ...Array<null>(3).fill(null), ...Array<number>(16).fill(1_048_576)]);
  });

  it('show the beginning of a long text in a list, and all of it for one query', async () => {
    const query = { userId: 1, runAs: 'ana', catalog: null, schema: null, traceToken: 't' };
    const times = { createdAt: clock.now(), deadlineAt: executions.deadlineAt() };
    const [short, long] = ['é'.repeat(1_000), 'é'.repeat(1_001)];
    const ids = [randomUUID(), randomUUID()];
    await add({ ...query, ...times, id: ids[0] ?? '', sql: short });
    clock.advance(1);
    await add({ ...query, ...times, createdAt: clock.now(), id: ids[1] ?? '', sql: long });
    const listed = await store.listPage(1, null, 10);

    expect(listed.map(({ sql, sqlTruncated }) => [sql, sqlTruncated])).toEqual([
      [short, true],
      [short, false],
    ]);
    expect(await executions.find(ids[1] ?? '')).toMatchObject({ sql: long, sqlTruncated: false });
  });
});

describe('query executions, while a reader has the room for the next page', () => {
  const MIB = 1_048_576;
  const ROW = '[7],';
  let executions: ExecutionsUnderTest;

  beforeAll(async () => {
    const limits = {
      QUERY_MAX_PAGE_BYTES: String(2 * MIB),
      QUERY_MAX_HELD_BYTES: String(4 * MIB),
      QUERY_MAX_ROWS: '0',
    };
    executions = await ExecutionsUnderTest.start(limits);
  });
  afterAll(() => executions.stop());

  it('ask for it once, with signs of life until the reader comes for it', async () => {
    await executions.renew();
    const { engine, one, timers, log } = executions;
    const page = { columns: NUMBERS, data: '[@filler[7]]', filler: { text: ROW, bytes: 1.5 * MIB } };
    engine.answers('SELECT large', page, page);
    const id = await executions.begun('SELECT large');
    const first = await one.rows(id, 0, Infinity);
    if (first?.kind === 'page') first.page.confirm();
    await until(() => executions.asked('GET').length === 2);
    for (let tick = 0; tick < 3; tick += 1) await executions.tick(one);
    timers.advance(60_000);
    await executions.tick(one);

    expect(executions.asked('GET')).toEqual(['0', '1']);
    expect(executions.asked('HEAD')).toEqual(['1']);
    expect(log.at('warn')).toEqual([]);
    const rows = first?.kind === 'page' ? first.page.length : 0;
    if (first?.kind === 'page') first.page.release();
    expect(values(await executions.rows(one, id, rows, Infinity))).toHaveLength(rows);
  });

  const large = (bytes: number): ScriptedPage => ({
    ...{ columns: NUMBERS, data: '[@filler[7]]', filler: { text: ROW, bytes } },
  });

  it('give the room of a page that was read, though not asked for more, to the next one', async () => {
    await executions.renew();
    const { engine, one, clock } = executions;
    engine.answers('SELECT large', large(1.5 * MIB), large(1.5 * MIB));
    const id = await executions.begun('SELECT large');
    const first = values(await executions.rows(one, id, 0, 10 ** 6)) as unknown[];
    clock.advance(5);
    await executions.tick(one);
    await until(() => executions.asked('GET').length === 2);
    await executions.tick(one);

    expect(values(await executions.rows(one, id, first.length, 10 ** 6))).toHaveLength(first.length);
  });

  it.each([
    ['a page', 10 ** 6, large(MIB)],
    ['a page of a stream', Infinity, large(MIB)],
    ['the last page', Infinity, null],
  ])('keep %s whose answer was refused for want of room, until the request is repeated', async (_, limit, page) => {
    await executions.renew();
    const { engine, one, clock } = executions;
    engine.answers('SELECT unread', large(0.9 * MIB));
    const unread = await executions.begun('SELECT unread');
    const answer = { id: engine.nextId, columns: NUMBERS, data: Array(MIB / ROW.length).fill([7]), stats: {} };
    engine.answers('SELECT large', ...(page === null ? [{ raw: JSON.stringify(answer) }] : [page, page]));
    const id = await executions.begun('SELECT large');
    const refused = await one.rows(id, 0, limit);
    if (refused?.kind !== 'page') throw new Error('no page');
    expect(refused.page.claim(0.3 * MIB, 0.3 * MIB)).toBe('share');
    refused.page.refuse();
    refused.page.release();
    clock.advance(5);
    await executions.tick(one);
    expect((await one.rows(unread, 0, 1))?.kind).toBe('page');
    one.forgetQuery(unread);

    expect(values(await executions.rows(one, id, 0, limit))).toHaveLength(refused.page.length);
    if (page !== null) expect(values(await executions.rows(one, id, refused.page.length, limit))).not.toEqual([]);
  });
});
