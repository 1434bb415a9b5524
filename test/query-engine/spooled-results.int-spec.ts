import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EngineFault } from '../../src/query-engine/domain/statement-client.js';
import { SPOOLED_ENCODINGS } from '../../src/query-engine/infrastructure/spooled-rows.js';
import { FakeSegmentStore, PACKED, rowsText, spooled } from '../support/fakes/fake-segment-store.js';
import { column } from '../support/fakes/fake-trino.js';
import { until } from '../support/service/until.js';
import { ana, StatementClientUnderTest } from './statement-client-under-test.js';

const COLUMNS = [column('n', 'integer'), column('name', 'varchar'), column('mark', 'varchar')];
const ROWS = JSON.parse(rowsText()) as unknown[][];
const EMPTY = Buffer.from('[]');
/** More than half of what is taken together. */
const LARGE = Buffer.from(JSON.stringify([[1, 'x'.repeat(3 * 1_048_576), null]]));

describe('results that the engine spools', () => {
  const store = new FakeSegmentStore();
  let tested: StatementClientUnderTest;
  let elsewhere: Server;
  let origin: string;

  beforeAll(async () => {
    tested = await StatementClientUnderTest.start();
    elsewhere = createServer((request, response) => {
      const { method = '', url: path = '', headers } = request;
      const answer = store.answer({ method, path, headers, body: '' });
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
    elsewhere.listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await tested.stop();
    elsewhere.closeAllConnections();
    elsewhere.close();
  });
  beforeEach(() => {
    for (const each of [store, tested.engine.store]) {
      each.requests.length = 0;
      each.acknowledged.length = 0;
      each.failing = [];
    }
  });

  const client = (origins: readonly string[] = []) => tested.client({ spooling: { origins } });
  const ofEngine = (...given: [number, number, Buffer, Record<string, unknown>?]) =>
    tested.engine.store.segment(tested.origin, ...given);

  /** As whoever asks for each page once. */
  async function read(sql: string, origins: readonly string[] = []): Promise<unknown[][]> {
    const engine = client(origins);
    const limits = { ...tested.inTime(), asksOnce: true };
    const rows: unknown[] = [];
    let { page } = await engine.submit(sql, ana, limits);
    while (page.nextPath !== null) {
      ({ page } = await engine.advance(page.nextPath, ana, limits));
      for (const batch of (page.unscanned ?? page.rows).decoded((row) => row)) rows.push(...batch);
    }
    return rows as unknown[][];
  }

  async function fault(sql: string, origins: readonly string[] = []): Promise<unknown> {
    return tested.toTheEnd(client(origins), sql).catch((error: unknown) => error);
  }

  it.each(SPOOLED_ENCODINGS.split(','))('are read and acknowledged: %s', async (encoding) => {
    const { body, ...metadata } = PACKED[encoding] ?? { body: EMPTY };
    const data = spooled(encoding, ofEngine(0, 40, body, metadata));
    tested.engine.answers('SELECT spooled', { columns: COLUMNS, data });

    expect(await read('SELECT spooled')).toEqual(ROWS);
    await until(() => tested.engine.store.acknowledged.length === 1);
    expect(tested.engine.requests.find(({ method }) => method === 'POST')?.headers).toMatchObject({
      'x-query-query-data-encoding': SPOOLED_ENCODINGS,
    });
  });

  it('are of segments in the order of their rows, within the page and in the store, small ones together', async () => {
    const inline = { type: 'inline', data: Buffer.from('[[2,"b",null]]').toString('base64') };
    const data = spooled(
      'json+lz4',
      ofEngine(2, 0, EMPTY),
      { ...inline, metadata: { rowOffset: 1, rowsCount: 1, segmentSize: 14 } },
      ofEngine(0, 1, Buffer.from(' [[1,"a",null]] ')),
      ofEngine(2, 1, Buffer.from('[[3,"c",null]]')),
    );
    tested.engine.answers('SELECT mixed', { columns: COLUMNS, data });

    expect((await read('SELECT mixed')).map(([n]) => n)).toEqual([1, 2, 3]);
  });

  it('come in pages of a bounded size, each of which can be asked for again until the next one is', async () => {
    const data = spooled('json', ofEngine(0, 1, LARGE), ofEngine(1, 1, LARGE), ofEngine(2, 1, LARGE));
    tested.engine.answers('SELECT large', { columns: COLUMNS, data });
    const engine = client();
    const { page: first } = await engine.submit('SELECT large', ana, tested.inTime());

    const part = await engine.advance(first.nextPath ?? '', ana, tested.inTime());
    const again = await engine.advance(first.nextPath ?? '', ana, tested.inTime());
    expect([part.page.rows.length, again.page.rows.length]).toEqual([1, 1]);
    expect(tested.engine.store.acknowledged).toEqual([]);

    const next = await engine.advance(part.page.nextPath ?? '', ana, tested.inTime());
    await until(() => tested.engine.store.acknowledged.length >= 1);
    const last = await engine.advance(next.page.nextPath ?? '', ana, tested.inTime());
    expect([next, last].map(({ page }) => page.rows.length)).toEqual([1, 1]);
    expect(last.page.nextPath).not.toContain('#');
    expect(tested.engine.requests.every(({ path }) => !path.includes('#'))).toBe(true);
  });

  it('of a last page are acknowledged when the engine has forgotten it', async () => {
    const engine = client();
    tested.engine.answers('SELECT last', { columns: COLUMNS, data: spooled('json', ofEngine(0, 0, EMPTY)) }, {});
    const last = tested.engine.nextId;
    const segment = ofEngine(0, 0, EMPTY);
    tested.engine.answers('SELECT end', {
      raw: JSON.stringify({ id: last, stats: {}, columns: COLUMNS, data: spooled('json', segment) }),
    });
    await tested.toTheEnd(engine, 'SELECT end');
    expect(tested.engine.store.acknowledged).toEqual([]);

    await tested.timers.wait(300_000);
    await tested.toTheEnd(engine, 'SELECT last');
    await until(() => tested.engine.store.acknowledged.some((name) => segment.uri.endsWith(name)));
  });

  it.each([
    ['are fetched from an origin of the store that is allowed', (rows: Buffer) => store.segment(origin, 0, 40, rows)],
    [
      'are fetched from where the engine sends its clients on to',
      (rows: Buffer) =>
        ofEngine(0, 40, EMPTY, { segmentSize: rows.length, location: store.segment(origin, 0, 40, rows).uri }),
    ],
  ])('%s, without a token and with the headers of the store', async (_, segment) => {
    tested.engine.answers('SELECT far', { columns: COLUMNS, data: spooled('json', segment(Buffer.from(rowsText()))) });

    expect(await read('SELECT far', [origin])).toEqual(ROWS);
    await until(() => store.acknowledged.length + tested.engine.store.acknowledged.length === 1);
    const sent = [...store.requests, ...tested.engine.store.requests].map(({ headers }) => headers);
    expect(sent.length).toBeGreaterThan(1);
    for (const headers of sent) {
      expect(headers).toMatchObject({ 'x-store-key': 'a key of the store' });
      expect(Object.keys(headers).filter((name) => /authorization|x-query|x-trino|cookie/.test(name))).toEqual([]);
    }
  });

  it('are fetched again while the store is busy', async () => {
    tested.engine.store.failing = [503, 429];
    tested.engine.answers('SELECT busy', {
      columns: COLUMNS,
      data: spooled('json', ofEngine(0, 40, Buffer.from(rowsText()))),
    });

    expect(await read('SELECT busy')).toHaveLength(40);
  });

  const changed = (change: Record<string, unknown>) => () => ({ ...ofEngine(0, 1, Buffer.from('[[1]]')), ...change });
  const metadata = (given: Record<string, unknown>) =>
    changed({ metadata: { rowOffset: 0, rowsCount: 1, segmentSize: 5, ...given } });
  it.each<[what: string, kind: string, segment: () => unknown, encoding?: string]>([
    ['another origin', 'protocol', changed({ uri: 'http://169.254.169.254/latest' })],
    ['another path of the engine', 'protocol', changed({ uri: '/v1/info' })],
    ['a path that leaves the store', 'protocol', changed({ uri: '/v1/spooled/%2e%2e/statement' })],
    ['a file', 'protocol', changed({ uri: 'file:///etc/passwd' })],
    ['a name and a password', 'protocol', changed({ uri: 'http://a:b@127.0.0.1/v1/spooled/x' })],
    ['a redirect elsewhere', 'protocol', () => ofEngine(0, 1, EMPTY, { location: 'http://169.254.169.254/latest' })],
    [
      'a redirect for ever',
      'protocol',
      () => ofEngine(0, 1, EMPTY, { location: ofEngine(0, 1, EMPTY, { location: '/v1/spooled/x' }).uri }),
    ],
    ['a header that frames', 'protocol', changed({ headers: { 'Transfer-Encoding': ['chunked'] } })],
    ['a header of two lines', 'protocol', changed({ headers: { a: ['b\r\nc: d'] } })],
    ['another type', 'protocol', changed({ type: 'elsewhere' })],
    ['no address', 'protocol', changed({ uri: 7 })],
    ['another size', 'protocol', metadata({ segmentSize: 6 })],
    ['no size', 'protocol', metadata({ segmentSize: -1 })],
    ['another number of rows', 'protocol', metadata({ rowsCount: 2 })],
    ['rows that are no list', 'protocol', () => ofEngine(0, 1, Buffer.from('{"a":1}'))],
    ['an unknown encoding', 'protocol', () => ofEngine(0, 1, Buffer.from('[[1]]')), 'arrow'],
    ['bytes that are not packed', 'protocol', metadata({ uncompressedSize: 9 }), 'json+lz4'],
    ['a bomb', 'too-large', metadata({ uncompressedSize: 2 ** 30 }), 'json+lz4'],
    ['more than is taken', 'too-large', metadata({ segmentSize: 2 ** 26 })],
    ['a segment that is gone', 'gone', changed({ uri: '/v1/spooled/download/none' })],
  ])('refuse %s', async (_, kind, segment, encoding = 'json') => {
    tested.engine.answers('SELECT bad', { columns: COLUMNS, data: spooled(encoding, segment()) });

    const found = await fault('SELECT bad');
    expect(found).toBeInstanceOf(EngineFault);
    expect(found).toMatchObject({ kind });
    expect((found as EngineFault).message).not.toMatch(/segment-\d|download|passwd|latest/);
    expect(store.requests).toEqual([]);
  });

  it('give up a store that is down for long', async () => {
    tested.engine.store.failing = Array<number>(200).fill(503);
    tested.engine.answers('SELECT down', { columns: COLUMNS, data: spooled('json', ofEngine(0, 0, EMPTY)) });

    expect(await fault('SELECT down')).toMatchObject({ kind: 'unavailable' });
  });

  it('are refused where they were not asked for', async () => {
    tested.engine.answers('SELECT unasked', { columns: COLUMNS, data: spooled('json', ofEngine(0, 0, EMPTY)) });
    const plain = tested.client();

    await expect(tested.toTheEnd(plain, 'SELECT unasked')).rejects.toMatchObject({ kind: 'protocol' });
    const posted = tested.engine.requests.filter(({ method }) => method === 'POST').at(-1);
    expect(Object.keys(posted?.headers ?? {}).filter((name) => name.includes('encoding'))).toEqual(['accept-encoding']);
  });
});
