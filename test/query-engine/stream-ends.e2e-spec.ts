import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ApiClient } from '../support/service/api-client.js';
import { column, type FakeTrino } from '../support/fakes/fake-trino.js';
import type { ScriptedPage } from '../support/fakes/fake-trino-statement.js';
import { until } from '../support/service/until.js';
import { ended, NUMBERS, QueriesUnderTest, submitted } from './queries-under-test.js';

const MIB = 1_048_576;

describe('a stream of rows ends', () => {
  let queries: QueriesUnderTest;
  let engine: FakeTrino;
  let ana: ApiClient;
  let stopped = false;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    queries = await QueriesUnderTest.start({ QUERY_MAX_ROWS: '0' });
    ({ engine, ana } = queries);
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    if (!stopped) await queries.stop();
  });

  const columns = [column('v', 'varchar')];
  const megabyte: ScriptedPage = { columns, data: '[["@filler"]]', filler: { text: 'x', bytes: MIB } };
  const statement = (): FakeTrino['statements'][number] | undefined => engine.statements.at(-1);

  function stream(path: string, accept: string, signal?: AbortSignal): Promise<Response> {
    const headers = { Accept: accept, Authorization: `Bearer ${ana.token}` };
    return fetch(`${queries.service.url}${path}/rows`, { headers, ...(signal === undefined ? {} : { signal }) });
  }

  async function neverRead(path: string): Promise<Socket> {
    const socket = connect(Number(new URL(queries.service.url).port), '127.0.0.1');
    sockets.push(socket.on('error', () => undefined));
    await once(socket, 'connect');
    socket.write(
      `GET ${path}/rows HTTP/1.1\r\nHost: x\r\nAccept: text/csv\r\nAuthorization: Bearer ${ana.token}\r\n\r\n`,
    );
    await once(socket, 'readable');
    return socket;
  }

  it.each(['application/x-ndjson', 'text/csv'])('with its client, and the engine hears of it: %s', async (accept) => {
    engine.answers('SELECT left', { columns: NUMBERS, data: [[1]] }, { after: new Promise(() => undefined) });
    const path = await submitted(ana, { sql: 'SELECT left' });
    const client = new AbortController();
    const answer = await stream(path, accept, client.signal);
    await answer.body?.getReader().read();
    client.abort();
    await until(() => statement()?.cancelled === true); // by no time that passes: the clock stands

    expect(await ended(ana, path)).toMatchObject({ state: 'cancelled', error: { code: 'query_abandoned' } });
  });

  it('without its query, if its client left before any row was sent', async () => {
    let arrive: () => void = () => undefined;
    const after = new Promise<void>((resolve) => (arrive = resolve));
    engine.answers('SELECT late', { after }, { columns: NUMBERS, data: [[1], [2]] }, { data: [[3]] });
    const path = await submitted(ana, { sql: 'SELECT late' });
    const { logLines } = queries.service;
    const lineCount = logLines.length;
    const client = new AbortController();
    const answer = stream(path, 'text/csv', client.signal);
    await ana.get('/api/auth/me'); // the stream's request has arrived by then
    client.abort();
    await expect(answer).rejects.toThrow();
    await until(() => logLines.slice(lineCount).some((line) => line.includes('"aborted":true')));
    arrive();
    await until(async () => (await ana.get(path)).body?.['columns'] !== null);

    expect(await (await stream(path, 'text/csv')).text()).toBe('n\r\n1\r\n2\r\n3\r\n');
    expect((await ana.get(path)).body).toMatchObject({ state: 'finished', rows_returned: 3 });
  });

  it('never for want of a reader, but asks the engine for no more meanwhile', async () => {
    engine.answers('SELECT unread', ...Array.from({ length: 60 }, () => megabyte));
    const path = await submitted(ana, { sql: 'SELECT unread' });
    const socket = await neverRead(path);
    let asked = -1;
    await until(async () => {
      const before = asked;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      asked = engine.requests.length;
      return asked === before;
    });

    expect(statement()?.newest).toBeLessThan(30);
    expect(statement()?.cancelled).toBe(false);
    socket.destroy();
    await until(() => statement()?.cancelled === true);
  });

  it('with the session of its reader', async () => {
    for (const [accept, last] of [
      ['application/x-ndjson', '{"error":{"code":"token_invalid"'],
      ['text/csv', null],
    ] as const) {
      let open: () => void = () => undefined;
      const after = new Promise<void>((resolve) => (open = resolve));
      engine.answers('SELECT secret', { columns: NUMBERS, data: [[1]] }, { data: [[2]], after }, { data: [[3]] });
      const session = await queries.anotherSession('ana');
      const path = await submitted(session, { sql: 'SELECT secret' });
      const headers = { Accept: accept, Authorization: `Bearer ${session.token}` };
      const answer = await fetch(`${queries.service.url}${path}/rows`, { headers });
      expect((await session.post('/api/auth/logout')).status).toBe(204);
      open();
      const text = await answer.text().catch(() => null);

      if (last === null) expect(text).toBeNull();
      else expect(text?.split('\n').at(-2)).toContain(last);
      expect(text ?? '').not.toMatch(/^\["[23]"\]$/m);
      await until(() => statement()?.cancelled === true);
    }
  });

  it('when the service stops, whatever its reader does', async () => {
    const endless = Array.from({ length: 3_000 }, () => ({ columns: NUMBERS, data: [[1]] }));
    engine.answers('SELECT endless', ...endless);
    engine.answers('SELECT unread', ...Array.from({ length: 60 }, () => megabyte));
    await neverRead(await submitted(ana, { sql: 'SELECT unread' }));
    const reading = await stream(await submitted(ana, { sql: 'SELECT endless' }), 'application/x-ndjson');
    const text = reading.text();
    const begun = performance.now();
    stopped = true;
    await queries.stop();

    expect(performance.now() - begun).toBeLessThan(15_000);
    expect((await text).split('\n').at(-2)).toContain('{"error":{"code":"busy"');
    expect(engine.statements.slice(-2).map(({ cancelled }) => cancelled)).toEqual([true, true]);
  });
});
