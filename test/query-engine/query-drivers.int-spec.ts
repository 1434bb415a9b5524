import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { RandomIds } from '../../src/kernel/ids.js';
import { DatabaseSession } from '../../src/platform/infrastructure/database-session.js';
import { parseSettings } from '../../src/platform/settings-parser.js';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import type { Query } from '../../src/query-engine/domain/query.js';
import { QueryRow } from '../../src/query-engine/infrastructure/query.entity.js';
import { TrinoStatementClient } from '../../src/query-engine/infrastructure/trino-statement-client.js';
import { TypeormQueryStore } from '../../src/query-engine/infrastructure/typeorm-query-store.js';
import { QueryDrivers } from '../../src/query-engine/query-drivers.service.js';
import type { RowsOutcome } from '../../src/query-engine/row-reader.js';
import { freshDatabase, type TestDatabase } from '../support/database.js';
import { FakePace } from '../support/fake-pace.js';
import { FakeServiceTokens } from '../support/fake-service-tokens.js';
import { column, FakeTrino } from '../support/fake-trino.js';
import { LogBook } from '../support/log-book.js';
import { TEST_SECRET, TestClock } from '../support/service.js';

const NUMBERS = [column('n', 'integer')];

describe('the drivers of queries', () => {
  const engine = new FakeTrino();
  const { settings } = parseSettings({ AUTH_SECRET_KEY: TEST_SECRET });
  let database: TestDatabase;
  let source: DataSource;
  let client: TrinoStatementClient;
  let store: TypeormQueryStore;
  let clock: TestClock;
  let pace: FakePace;
  let log: LogBook;
  let one: QueryDrivers;
  let other: QueryDrivers;

  beforeAll(async () => {
    const origin = await engine.listen();
    database = await freshDatabase();
    source = await new DataSource({ type: 'postgres', url: database.url, entities: [QueryRow] }).initialize();
    store = new TypeormQueryStore(new DatabaseSession(source));
    await source.query(`INSERT INTO principal_names (name, holder, claimed_at) VALUES ('ana', 'account', now())`);
    await source.query(
      `INSERT INTO users (username, email, password_hash, role, is_active, created_at)
       VALUES ('ana', 'ana@example.org', '$2b$04$' || repeat('a', 53), 'user', true, now())`,
    );
    const address = { origin, user: 'sa', headerPrefix: 'X-Query', forwardedProto: null, compression: 'none' } as const;
    client = new TrinoStatementClient(address, new FakeServiceTokens(), new FakePace(), new TestClock(), new LogBook());
  });
  afterAll(async () => {
    client.close();
    await source.destroy();
    await database.drop();
    await engine.close();
  });
  beforeEach(async () => {
    await source.query('DELETE FROM queries');
    await source.query('UPDATE users SET is_active = true');
    engine.requests.length = 0;
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1], [2], [3]] }, {}, { data: [[4], [5]] });
    clock = new TestClock();
    pace = new FakePace();
    log = new LogBook();
    [one, other] = [replica(), replica()];
  });

  function replica(): QueryDrivers {
    return new QueryDrivers(client, store, pace, clock, log, settings, new RandomIds());
  }

  const deadlineAt = (): Date => new Date(clock.now().getTime() + 3_600_000);

  /** Submits `sql` through one replica. */
  async function begun(sql: string, drivers = one): Promise<string> {
    const id = randomUUID();
    const query = { id, userId: 1, runAs: 'ana', sql, catalog: null, schema: null, traceToken: 't' };
    await store.reserve({ ...query, createdAt: clock.now(), deadlineAt: deadlineAt() }, drivers.driver, 5);
    const { page } = await client.submit(sql, sessionFor('ana'), { deadline: Infinity });
    const where = { nextPath: page.nextPath, pagePath: null, pageStart: 0, newestFrom: 0, rowsReturned: 0 };
    await drivers.begin({ ...query, ...where, deadlineAt: deadlineAt(), columns: null, waitingSince: null }, page);
    return id;
  }

  const find = async (id: string): Promise<Query | null> => store.ownedBy(1).find(id);
  const values = (outcome: RowsOutcome): unknown => (outcome.kind === 'page' ? outcome.page.rows.flat() : outcome.kind);
  const asked = (method: string): string[] =>
    engine.requests.filter((request) => request.method === method).map(({ path }) => path.split('/').at(-1) ?? '');
  const expireLeases = (): Promise<unknown> => source.query(`UPDATE queries SET lease_until = now() - interval '1 s'`);

  it('hand rows on wherever they are asked for: another replica takes over in the middle of a page', async () => {
    const id = await begun('SELECT n');

    expect(values(await one.rows(id, 0, 2))).toEqual([1, 2]);
    expect(values(await other.rows(id, 2, 2))).toEqual([3]);
    expect(values(await one.rows(id, 2, 2))).toEqual([3]);
    expect(values(await other.rows(id, 3, 2))).toEqual([4, 5]);
    expect(values(await one.rows(id, 3, 2))).toEqual([4, 5]);
    expect(values(await other.rows(id, 0, 2))).toBe('gone');
    expect(values(await one.rows(id, 9, 2))).toBe('unknown');
    expect(values(await other.rows(id, 5, 2))).toBe('over');
    expect(await find(id)).toMatchObject({ state: 'finished', rowsReturned: 5 });
  });

  it('give the last page again after the end, for as long as they remember it', async () => {
    engine.answers('SELECT few', { raw: JSON.stringify({ id: 'q', columns: NUMBERS, data: [[1]], stats: {} }) });
    const id = await begun('SELECT few');
    const last = await one.rows(id, 0, 10);
    expect(last).toMatchObject({ kind: 'page', page: { rows: [[1]], next: null } });
    expect(await find(id)).toMatchObject({ state: 'finished' });

    expect(await one.rows(id, 0, 10)).toEqual(last);
    pace.advance(60_001);
    await one.tick();
    expect(values(await one.rows(id, 0, 10))).toBe('over');
  });

  it('go on by themselves from a page that was read to its end, and give it again meanwhile', async () => {
    const id = await begun('SELECT n');
    const first = await one.rows(id, 0, 2);
    const second = await one.rows(id, 2, 2);
    clock.advance(5);
    await one.tick();
    await until(() => Promise.resolve(asked('GET').length === 3));

    expect(values(first)).toEqual([1, 2]);
    expect(await one.rows(id, 2, 1)).toEqual(second);
    expect(values(await one.rows(id, 3, 9))).toEqual([4, 5]);
    expect(values(await one.rows(id, 2, 1))).toBe('gone');
  });

  it('finish what was read, though nobody asks whether more comes', async () => {
    engine.answers('SELECT few', { columns: NUMBERS, data: [[1]] });
    const id = await begun('SELECT few');
    const last = await one.rows(id, 0, 10);
    clock.advance(5);
    await one.tick();
    let again = last;
    await until(async () => {
      again = await one.rows(id, 0, 10);
      return again.kind === 'page' && again.page.next === null;
    });

    expect(values(again)).toEqual(values(last));
    expect(await find(id)).toMatchObject({ state: 'finished', rowsReturned: 1 });
  });

  it('adopt the queries of a replica that died, with the page that waited there', async () => {
    const id = await begun('SELECT n');
    expect(values(await one.rows(id, 0, 2))).toEqual([1, 2]);
    await other.tick();
    expect(log.at('info')).toEqual([]);

    await expireLeases();
    await other.tick();

    expect(log.at('info')).toEqual(['a query is driven on after its driver died']);
    expect(values(await other.rows(id, 2, 9))).toEqual([3]);
  });

  it('end as lost what died on its way to the engine', async () => {
    const id = randomUUID();
    const query = { id, userId: 1, runAs: 'ana', sql: 'SELECT 1', catalog: null, schema: null, traceToken: 't' };
    await store.reserve({ ...query, createdAt: clock.now(), deadlineAt: deadlineAt() }, one.driver, 5);
    await expireLeases();
    await other.tick();

    expect(await find(id)).toMatchObject({ state: 'failed', error: { code: 'query_lost' } });
  });

  it('end as lost what the engine has forgotten', async () => {
    const id = await begun('SELECT n');
    await one.rows(id, 0, 1);
    engine.statements.length = 0;

    expect(values(await other.rows(id, 1, 1))).toBe('over');
    expect(await find(id)).toMatchObject({ state: 'failed', error: { code: 'query_lost' } });
  });

  it('stop without a word to the engine when another replica drives or the owner has cancelled', async () => {
    const id = await begun('SELECT n');
    await other.rows(id, 0, 1);
    await one.tick();
    await store.ownedBy(1).cancel(id, { state: 'finished', truncated: false, updateCount: null }, clock.now());
    await other.tick();

    expect(asked('DELETE')).toEqual([]);
    expect(values(await other.rows(id, 1, 1))).toBe('over');
  });

  it('tell the engine every minute that a page still waits, and cancel what nobody fetches for 300 s', async () => {
    const id = await begun('SELECT n');
    await one.rows(id, 0, 1);
    clock.advance(299);
    pace.advance(59_999);
    await one.tick();
    expect(asked('HEAD')).toEqual([]);
    pace.advance(1);
    await one.tick();
    await one.tick();
    expect(asked('HEAD')).toEqual(['0']);

    clock.advance(1);
    await one.tick();

    expect(await find(id)).toMatchObject({ state: 'cancelled', error: { code: 'query_abandoned' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('end what takes longer than it may, counted from the POST', async () => {
    const id = await begun('SELECT n');
    clock.advance(3_600);
    await one.tick();

    expect(await find(id)).toMatchObject({ state: 'failed', error: { code: 'query_timeout' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('cancel the queries of a person who was deactivated', async () => {
    const id = await begun('SELECT n');
    await source.query('UPDATE users SET is_active = false');
    await one.tick();

    expect(await find(id)).toMatchObject({ state: 'cancelled', error: { code: 'account_deactivated' } });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('answer an empty page with the same place when no rows come in time', async () => {
    engine.answers('SELECT slow', { columns: NUMBERS, after: new Promise(() => undefined) });
    const id = await begun('SELECT slow');
    const waiting = one.rows(id, 0, 10);
    await pace.somebodyWaits();
    pace.advance(10_000);

    expect(await waiting).toEqual({ kind: 'page', page: { columns: [], rows: [], next: 0 } });
  });

  it('wait out a database that is away, and go on', async () => {
    let open: () => void = () => undefined;
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1]], after: new Promise((resolve) => (open = resolve)) });
    const id = await begun('SELECT n');
    const owner = await new DataSource({ type: 'postgres', url: database.migrationUrl }).initialize();
    await owner.query('ALTER TABLE queries RENAME TO away');
    open();
    while (log.at('warn').length === 0) await new Promise((resolve) => setImmediate(resolve));
    await owner.query('ALTER TABLE away RENAME TO queries');
    await owner.destroy();
    await one.tick();

    expect(values(await one.rows(id, 0, 10))).toEqual([1]);
    expect(JSON.stringify(log.lines)).not.toContain('/v1/statement/');
  });

  it('let go of what they drive when they stop, so that another goes on at once', async () => {
    const id = await begun('SELECT n');
    await one.rows(id, 0, 1);
    const stop = new AbortController();
    const running = one.run(stop.signal);
    await pace.somebodyWaits();
    stop.abort();
    await running;
    await other.tick();

    expect(values(await other.rows(id, 1, 1))).toEqual([2]);
    expect(asked('DELETE')).toEqual([]);
  });

  it('keep no capability of the engine once a query has ended, and no query past its retention', async () => {
    const id = await begun('SELECT n');
    await store.ownedBy(1).cancel(id, { state: 'finished', truncated: false, updateCount: null }, clock.now());
    const [row] = await source.query<QueryRow[]>('SELECT next_path, page_path, driver FROM queries');
    expect(row).toEqual({ next_path: null, page_path: null, driver: null });

    clock.advance(7 * 86_400 + 1);
    await one.tick();

    expect(await find(id)).toBeNull();
  });

  it('let in no more of one person at once than may be alive, however many ask together', async () => {
    const query = { userId: 1, runAs: 'ana', sql: 'SELECT 1', catalog: null, schema: null, traceToken: 't' };
    const times = { createdAt: clock.now(), deadlineAt: deadlineAt() };
    const reserved = await Promise.all(
      Array.from({ length: 8 }, () => store.reserve({ ...query, ...times, id: randomUUID() }, one.driver, 3)),
    );

    expect(reserved.filter((got) => got)).toHaveLength(3);
  });
});

/** Asks until it is so; jest's own limit ends what never comes. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}
