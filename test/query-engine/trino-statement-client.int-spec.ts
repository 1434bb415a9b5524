import { VERSION } from '../../src/platform/operations/version.js';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import { column, failed, type FakeTrino } from '../support/fakes/fake-trino.js';
import type { LogBook } from '../support/fakes/log-book.js';
import { ana, StatementClientUnderTest } from './statement-client-under-test.js';

describe('TrinoStatementClient', () => {
  let tested: StatementClientUnderTest;
  let engine: FakeTrino;
  let log: LogBook;

  beforeEach(async () => {
    tested = await StatementClientUnderTest.start();
    ({ engine, log } = tested);
  });
  afterEach(() => tested.stop());

  describe.each([
    { headerPrefix: 'X-Query', forwardedProto: null },
    { headerPrefix: 'X-Trino', forwardedProto: null },
    { headerPrefix: 'X-Query', forwardedProto: 'https' },
    { headerPrefix: 'X-Trino', forwardedProto: 'https' },
  ] as const)('with %j', ({ headerPrefix, forwardedProto }) => {
    it('sends the user, the original user and the token on every request', async () => {
      if (forwardedProto === 'https') engine.mode = { kind: 'verified', refusalOf: () => null };
      const answers = await tested.toTheEnd(tested.client({ headerPrefix, forwardedProto }), 'SELECT 1');

      expect(answers.flatMap(({ page }) => [...page.rows.batches()].flat())).toEqual([[1]]);
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

  it.each(['', ' ana', 'a\nb', 'ł'])('sends no request for a user called %j', async (user) => {
    await expect(tested.client().submit('SELECT 1', sessionFor(user), tested.inTime())).rejects.toThrow(
      'no header can carry',
    );
    expect(engine.requests).toEqual([]);
  });

  it('reads compressed pages if so configured', async () => {
    const answers = await tested.toTheEnd(tested.client({ compression: 'gzip' }), 'SELECT 1');

    expect(answers.flatMap(({ page }) => [...page.rows.batches()].flat())).toEqual([[1]]);
    const { headers } = engine.requests[0] ?? {};
    expect(headers).toMatchObject({ 'accept-encoding': 'gzip', 'user-agent': `grantline/${VERSION}` });
  });

  it('keeps to its own origin, whatever host a nextUri names', async () => {
    engine.nextOrigin = 'https://trino.example.test:8443';

    const answers = await tested.toTheEnd(tested.client(), 'SELECT 1');

    expect(answers.flatMap(({ page }) => [...page.rows.batches()].flat())).toEqual([[1]]);
  });

  it.each(['/v1/query/1', '/v1/statement/../info', '/v1/statement/%2e%2e/info', 'file:///v1/statement/x', '//[/'])(
    'takes %s for no nextUri',
    async (nextUri) => {
      engine.instead = [{ method: 'POST', body: JSON.stringify({ id: 'q', stats: { state: 'QUEUED' }, nextUri }) }];

      await expect(tested.client().submit('SELECT 1', ana, tested.inTime())).rejects.toMatchObject({
        kind: 'protocol',
      });
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

    const { page } = await tested.client().submit('SELECT 1', ana, tested.inTime());

    expect(page).toMatchObject({ queryId: 'q', nextPath: null });
    expect([...page.rows.batches()].flat()).toEqual([[1]]);
  });

  it('loses no digit of a 64-bit integer', async () => {
    engine.answers('SELECT big', {
      columns: [column('n', 'bigint')],
      data: '[[9223372036854775807],[-9007199254740993]]',
    });

    const answers = await tested.toTheEnd(tested.client(), 'SELECT big');

    expect(answers.flatMap(({ page }) => [...page.rows.batches()].flat())).toEqual([
      ['9223372036854775807'],
      ['-9007199254740993'],
    ]);
  });

  it('passes on user errors, and no internals of the engine', async () => {
    engine.answers('SELECT mine', failed('COLUMN_NOT_FOUND', "Column 'mine' cannot be resolved"));
    engine.answers('SELECT broken', failed('GENERIC_INTERNAL_ERROR', "Invalid JSON file '/etc/x'", 'INTERNAL_ERROR'));

    const mine = (await tested.toTheEnd(tested.client(), 'SELECT mine')).at(-1)?.page.error;
    const broken = (await tested.toTheEnd(tested.client(), 'SELECT broken')).at(-1)?.page.error;

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

      const { change } = (await tested.toTheEnd(tested.client({ headerPrefix: prefix }), 'SET'))[1] ?? {};

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

  it('warns of a type that it does not know, once for each', async () => {
    const client = tested.client();
    const types = [column('a', 'Shape'), column('b', 'varchar'), column('c', 'Shape')];
    engine.answers('SELECT shapes', { columns: types, data: [[1, '', {}]] }, { data: [[2, '', {}]] });
    await tested.toTheEnd(client, 'SELECT shapes');
    await tested.toTheEnd(client, 'SELECT shapes');

    const warned = log.lines.filter(({ level }) => level === 'warn');
    expect(warned).toEqual([
      { level: 'warn', message: 'the engine sent a type that is not known here', fields: { type: 'Shape' } },
    ]);
  });

  it('ends a wait with the caller, and leaves the connection usable', async () => {
    const trino = tested.client();
    const never = new Promise<void>(() => undefined);
    engine.answers('SELECT slow', { after: never });
    const { page } = await trino.submit('SELECT slow', ana, tested.inTime());
    const caller = new AbortController();
    const waiting = trino.advance(page.nextPath ?? '', ana, { ...tested.inTime(), signal: caller.signal });
    caller.abort(new Error('the caller left'));

    await expect(waiting).rejects.toThrow('the caller left');
    await trino.cancel(page.nextPath ?? '', ana);
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('never throws from keepAlive or cancel', async () => {
    const trino = tested.client({ origin: 'http://127.0.0.1:1' });

    await trino.keepAlive('/v1/statement/executing/q/y/1', ana);
    await trino.cancel('/v1/statement/executing/q/y/1', ana);

    expect(log.at('error')).toEqual([]);
  });
});
