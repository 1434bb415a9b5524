import { SystemClock } from '../../src/kernel/clock.js';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import type { RequestLimits, StatementAnswer } from '../../src/query-engine/domain/statement-client.js';
import {
  type TrinoAddress,
  TrinoStatementClient,
} from '../../src/query-engine/infrastructure/trino-statement-client.js';
import { HastyPace } from '../support/fake-pace.js';
import { FakeServiceTokens } from '../support/fake-service-tokens.js';
import { column, FakeTrino, failed } from '../support/fake-trino.js';
import { LogBook } from '../support/log-book.js';

describe('TrinoStatementClient', () => {
  const engine = new FakeTrino();
  const ana = sessionFor('ana', { catalog: 'sales', schema: 'eu', traceToken: 'request-7' });
  let origin: string;
  let pace: HastyPace;
  let tokens: FakeServiceTokens;
  let log: LogBook;
  let open: TrinoStatementClient[] = [];

  beforeAll(async () => {
    origin = await engine.listen();
  });
  afterAll(() => engine.close());
  beforeEach(() => {
    pace = new HastyPace();
    tokens = new FakeServiceTokens();
    log = new LogBook();
    Object.assign(engine, { mode: { kind: 'insecure' }, instead: [], nextOrigin: null, mayImpersonate: () => true });
    engine.requests.length = 0;
  });
  afterEach(() => {
    for (const client of open) client.close();
    open = [];
  });

  function client(given: Partial<TrinoAddress> = {}): TrinoStatementClient {
    const address: TrinoAddress = {
      origin,
      user: 'service-account-grantline',
      headerPrefix: 'X-Query',
      forwardedProto: null,
      compression: 'none',
      ...given,
    };
    const made = new TrinoStatementClient(address, tokens, pace, new SystemClock(), log);
    open.push(made);
    return made;
  }

  const inTime = (): RequestLimits => ({ deadline: pace.now() + 600_000 });

  async function toTheEnd(trino: TrinoStatementClient, sql: string): Promise<StatementAnswer[]> {
    const answers = [await trino.submit(sql, ana, inTime())];
    for (let path = answers[0]?.page.nextPath ?? null; path !== null; path = answers.at(-1)?.page.nextPath ?? null) {
      answers.push(await trino.advance(path, ana, inTime()));
    }
    return answers;
  }

  describe.each([
    { headerPrefix: 'X-Query', forwardedProto: null },
    { headerPrefix: 'X-Trino', forwardedProto: null },
    { headerPrefix: 'X-Query', forwardedProto: 'https' },
    { headerPrefix: 'X-Trino', forwardedProto: 'https' },
  ] as const)('with %j', ({ headerPrefix, forwardedProto }) => {
    it('says on every request who asks, for whom, and with which token', async () => {
      if (forwardedProto === 'https') engine.mode = { kind: 'verified', refusalOf: () => null };
      const answers = await toTheEnd(client({ headerPrefix, forwardedProto }), 'SELECT 1');

      expect(answers.flatMap(({ page }) => page.rows)).toEqual([[1]]);
      expect(engine.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
      const prefix = headerPrefix.toLowerCase();
      for (const { headers } of engine.requests) {
        expect(headers).toMatchObject({
          authorization: 'Bearer token-1',
          [`${prefix}-user`]: 'ana',
          [`${prefix}-original-user`]: 'service-account-grantline',
          [`${prefix}-source`]: 'grantline',
          [`${prefix}-trace-token`]: 'request-7',
          [`${prefix}-catalog`]: 'sales',
          [`${prefix}-schema`]: 'eu',
          'accept-encoding': 'identity',
        });
        const other = prefix === 'x-query' ? 'x-trino-' : 'x-query';
        expect(Object.keys(headers).filter((name) => name.startsWith(other))).toEqual([]);
      }
      expect(engine.requests[0]?.body).toBe('SELECT 1');
    });
  });

  it('reads compressed pages when it is told to ask for them', async () => {
    const answers = await toTheEnd(client({ compression: 'gzip' }), 'SELECT 1');

    expect(answers.flatMap(({ page }) => page.rows)).toEqual([[1]]);
    expect(engine.requests[0]?.headers['accept-encoding']).toBe('gzip');
  });

  it('keeps to its own origin, whatever host a nextUri names', async () => {
    engine.nextOrigin = 'https://trino.example.test:8443';

    const answers = await toTheEnd(client(), 'SELECT 1');

    expect(answers.flatMap(({ page }) => page.rows)).toEqual([[1]]);
  });

  it.each(['/v1/query/1', '/v1/statement/../info', '/v1/statement/%2e%2e/info', 'file:///v1/statement/x', '//[/'])(
    'takes %s for no nextUri',
    async (nextUri) => {
      engine.instead = [{ method: 'POST', body: JSON.stringify({ id: 'q', stats: { state: 'QUEUED' }, nextUri }) }];

      await expect(client().submit('SELECT 1', ana, inTime())).rejects.toMatchObject({ kind: 'protocol' });
    },
  );

  it('takes rows out of the answer to the POST', async () => {
    const body = JSON.stringify({
      id: 'q',
      columns: [column('n', 'bigint')],
      data: [[1]],
      stats: { state: 'FINISHED' },
    });
    engine.instead = [{ method: 'POST', body }];

    const { page } = await client().submit('SELECT 1', ana, inTime());

    expect(page).toMatchObject({ queryId: 'q', nextPath: null, rows: [[1]] });
  });

  it('loses no digit of a 64-bit integer', async () => {
    engine.answers('SELECT big', {
      columns: [column('n', 'bigint')],
      data: '[[9223372036854775807],[-9007199254740993]]',
    });

    const answers = await toTheEnd(client(), 'SELECT big');

    expect(answers.flatMap(({ page }) => page.rows)).toEqual([['9223372036854775807'], ['-9007199254740993']]);
  });

  it('hands on what the person did wrong, and nothing of the engine inside', async () => {
    engine.answers('SELECT mine', failed('COLUMN_NOT_FOUND', "Column 'mine' cannot be resolved"));
    engine.answers('SELECT broken', failed('GENERIC_INTERNAL_ERROR', "Invalid JSON file '/etc/x'", 'INTERNAL_ERROR'));

    const mine = (await toTheEnd(client(), 'SELECT mine')).at(-1)?.page.error;
    const broken = (await toTheEnd(client(), 'SELECT broken')).at(-1)?.page.error;

    expect(mine).toEqual({
      name: 'COLUMN_NOT_FOUND',
      kind: 'USER_ERROR',
      message: "Column 'mine' cannot be resolved",
      line: 1,
      column: 8,
    });
    expect(broken).toMatchObject({ name: 'GENERIC_INTERNAL_ERROR', message: 'the engine failed inside' });
  });

  it('folds what a statement changes for the next one, in either family', async () => {
    for (const prefix of ['X-Query', 'X-Trino'] as const) {
      engine.answers('SET', {
        headers: {
          [`${prefix}-Set-Session`]: 'a=x%2Cy, b=1+2',
          [`${prefix}-Clear-Session`]: 'c',
          [`${prefix}-Set-Catalog`]: 'lake',
          [`${prefix}-Added-Prepare`]: 'p=SELECT+%3F',
        },
      });

      const { change } = (await toTheEnd(client({ headerPrefix: prefix }), 'SET'))[1] ?? {};

      expect(change).toMatchObject({
        catalog: 'lake',
        schema: null,
        setProperties: [
          ['a', 'x,y'],
          ['b', '1 2'],
        ],
        clearedProperties: ['c'],
        addedStatements: [['p', 'SELECT ?']],
      });
    }
  });

  describe('an engine in trouble', () => {
    it('is asked again after 429, 502, 503, 504 and lost connections, as it wishes', async () => {
      engine.instead = [
        { method: 'POST', status: 503 },
        { method: 'POST', hangUp: true },
        { method: 'POST', status: 429, headers: { 'Retry-After': '2' } },
        { method: 'GET', status: 502 },
        { method: 'GET', status: 504 },
      ];

      const answers = await toTheEnd(client(), 'SELECT 1');

      expect(answers.flatMap(({ page }) => page.rows)).toEqual([[1]]);
      expect(pace.waits).toEqual([75, 150, 2000, 75, 150]);
    });

    it('gets five seconds on a POST and thirty on a GET', async () => {
      const trino = client();
      const { page } = await trino.submit('SELECT 1', ana, inTime());
      engine.instead = Array.from({ length: 100 }, () => ({ hangUp: true }));

      await expect(trino.submit('SELECT 1', ana, inTime())).rejects.toMatchObject({ kind: 'unavailable' });
      const forThePost = pace.waits.splice(0).reduce((sum, wait) => sum + wait, 0);
      await expect(trino.advance(page.nextPath ?? '', ana, inTime())).rejects.toMatchObject({ kind: 'unavailable' });
      const forTheGet = pace.waits.reduce((sum, wait) => sum + wait, 0);

      expect(forThePost).toBeGreaterThan(3000);
      expect(forThePost).toBeLessThanOrEqual(5000);
      expect(forTheGet).toBeGreaterThan(27_000);
      expect(forTheGet).toBeLessThanOrEqual(30_000);
    });

    it('is not waited for beyond what is left of the statement', async () => {
      engine.instead = [{ status: 429, headers: { 'Retry-After': '3' } }];

      await expect(client().submit('SELECT 1', ana, { deadline: pace.now() + 2000 })).rejects.toMatchObject({
        kind: 'unavailable',
      });
      expect(pace.waits).toEqual([]);
    });

    it.each([
      [500, 'unavailable'],
      [400, 'refused'],
      [403, 'refused'],
      [410, 'gone'],
      [302, 'protocol'],
    ])('is not asked again after %s', async (status, kind) => {
      engine.instead = [{ status, headers: { Location: `${origin}/elsewhere` }, body: 'a stack trace with token-1' }];

      const refused = client().submit('SELECT 1', ana, inTime());

      await expect(refused).rejects.toMatchObject({ kind });
      await expect(refused).rejects.not.toThrow(/token-1|stack trace/);
      expect(engine.requests).toHaveLength(1);
    });

    it.each(['', '[]', '{"id":1}', '<html>', '{"id":"q","columns":7}', '{"id":"q","data":{"encoding":"json"}}'])(
      'that answers %j is no engine',
      async (body) => {
        engine.instead = [{ body }];

        await expect(client().submit('SELECT 1', ana, inTime())).rejects.toMatchObject({ kind: 'protocol' });
      },
    );
  });

  describe('a token that the engine refuses', () => {
    beforeEach(() => {
      engine.mode = { kind: 'verified', refusalOf: (token) => (token === 'token-1' ? `JWT expired: ${token}` : null) };
    });

    it('is renewed once, and the request repeated once', async () => {
      const answers = await toTheEnd(client({ forwardedProto: 'https' }), 'SELECT 1');

      expect(answers.flatMap(({ page }) => page.rows)).toEqual([[1]]);
      expect(tokens.renewals).toBe(1);
      expect(engine.requests.map(({ headers }) => headers.authorization)).toEqual([
        'Bearer token-1',
        'Bearer token-2',
        'Bearer token-2',
        'Bearer token-2',
      ]);
    });

    it('is not renewed a second time, and is in no message', async () => {
      engine.mode = { kind: 'verified', refusalOf: (token) => `JWT expired: ${token}` };

      await expect(client({ forwardedProto: 'https' }).submit('SELECT 1', ana, inTime())).rejects.toMatchObject({
        kind: 'refused',
        message: 'POST was answered with 401: JWT expired: [token]',
      });
      expect(engine.requests).toHaveLength(2);
    });

    it('is not renewed once rows have been handed out', async () => {
      engine.instead = [{ status: 401, headers: { 'WWW-Authenticate': 'Bearer realm="Trino"' } }];

      await expect(
        client().advance('/v1/statement/executing/q/y/1', ana, { ...inTime(), rowsHandedOut: true }),
      ).rejects.toMatchObject({ kind: 'refused' });
      expect(tokens.renewals).toBe(0);
    });

    it('is not blamed for a 401 that asks for Basic: there the user header is at fault', async () => {
      engine.instead = [{ status: 401, headers: { 'WWW-Authenticate': 'Basic realm="Trino"' } }];

      await expect(client().submit('SELECT 1', ana, inTime())).rejects.toMatchObject({ kind: 'refused' });
      expect(tokens.renewals).toBe(0);
    });
  });

  it('goes on with a running statement on the last token while the provider is down, and begins none', async () => {
    const trino = client();
    const { page } = await trino.submit('SELECT 1', ana, inTime());
    tokens.down = true;

    const next = await trino.advance(page.nextPath ?? '', ana, inTime());

    expect(next.page.rows).toEqual([[1]]);
    await expect(trino.submit('SELECT 1', ana, inTime())).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('ends a wait with the caller, and leaves the connection usable', async () => {
    const trino = client();
    const never = new Promise<void>(() => undefined);
    engine.answers('SELECT slow', { after: never });
    const { page } = await trino.submit('SELECT slow', ana, inTime());
    const caller = new AbortController();
    const waiting = trino.advance(page.nextPath ?? '', ana, { ...inTime(), signal: caller.signal });
    caller.abort(new Error('the caller left'));

    await expect(waiting).rejects.toThrow('the caller left');
    await trino.cancel(page.nextPath ?? '', ana);
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('never throws from keepAlive or cancel', async () => {
    const trino = client({ origin: 'http://127.0.0.1:1' });

    await trino.keepAlive('/v1/statement/executing/q/y/1', ana);
    await trino.cancel('/v1/statement/executing/q/y/1', ana);

    expect(log.at('error')).toEqual([]);
  });

  it.each(['', ' ana', 'a\nb', 'ł'])('sends no request for a user called %j', async (user) => {
    await expect(client().submit('SELECT 1', sessionFor(user), inTime())).rejects.toThrow('no header can carry');
    expect(engine.requests).toEqual([]);
  });
});
