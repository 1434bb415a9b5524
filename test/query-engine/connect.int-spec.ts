import {
  clientCredentials,
  connect,
  InterfaceError,
  NamedRow,
  OperationalError,
} from '../../src/query-engine/client/index.js';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { column, FakeTrino } from '../support/fakes/fake-trino.js';

describe('connections without the service', () => {
  const engine = new FakeTrino();
  let url: string;
  beforeAll(async () => {
    url = await engine.listen();
  });
  afterAll(() => engine.close());
  beforeEach(() => {
    engine.requests.length = 0;
    engine.mode = { kind: 'insecure' };
  });

  async function run(sql: string, options: Partial<Parameters<typeof connect>[0]> = {}) {
    const connection = connect({ url, user: 'ana', ...options });
    try {
      const cursor = connection.cursor();
      await cursor.execute(sql);
      return await cursor.fetchAll();
    } finally {
      await connection.close();
    }
  }

  it('send what was said of their session', async () => {
    await run('SELECT 1', {
      ...{ catalog: 'lake', schema: 'raw', source: 'nightly', timeZone: 'UTC', traceToken: 't-1' },
      ...{ properties: { query_priority: '2' }, roles: { system: 'ROLE{admin}' } },
    });

    expect(engine.requests[0]?.headers).toMatchObject({
      ...{ 'x-trino-user': 'ana', 'x-trino-original-user': 'ana', 'x-trino-source': 'nightly' },
      ...{ 'x-trino-catalog': 'lake', 'x-trino-schema': 'raw', 'x-trino-time-zone': 'UTC' },
      ...{ 'x-trino-trace-token': 't-1', 'x-trino-session': 'query_priority=2' },
      'x-trino-role': 'system=ROLE%7Badmin%7D',
    });
    expect(engine.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('take a semicolon at the end, and no second statement', async () => {
    expect(await run('SELECT 1;\n')).toEqual([[1]]);
    await expect(run('SELECT 1; SELECT 1')).rejects.toMatchObject({ engine: { name: 'SYNTAX_ERROR' } });
  });

  it.each([
    ['its own address', () => null],
    ['the address by which it was asked', () => `${url}/trino`],
  ])('reach an engine below a path of a gateway, which names %s', async (_, nextOrigin) => {
    engine.gateway = { path: '/trino', header: 'x-gateway-key' };
    engine.nextOrigin = nextOrigin();
    const rows = run('SELECT 1', { url: `${url}/trino/`, headers: { 'X-Gateway-Key': 'k1' } });
    await expect(rows.finally(() => ([engine.gateway, engine.nextOrigin] = [null, null]))).resolves.toEqual([[1]]);
    for (const { headers } of engine.requests) expect(headers).toMatchObject({ 'x-gateway-key': 'k1' });
  });

  it('send client tags and credentials, and a password on every request', async () => {
    await run('SELECT 1', {
      ...{ originalUser: 'tool', password: 'pä:ss', clientTags: ['etl', 'night ly'] },
      extraCredentials: { 'gcs.token': 'a=b,c' },
    });
    expect(engine.requests.length).toBeGreaterThan(1);
    for (const { headers } of engine.requests)
      expect(headers).toMatchObject({
        ...{ authorization: `Basic ${Buffer.from('tool:pä:ss').toString('base64')}`, 'x-trino-user': 'ana' },
        ...{ 'x-trino-client-tags': 'etl,night ly', 'x-trino-extra-credential': 'gcs.token=a%3Db%2Cc' },
      });
    await expect(run('SELECT 1', { clientTags: ['a,b'] })).rejects.toBeInstanceOf(InterfaceError);
  });

  it.each([
    ['a connection', () => connect({ url, user: 'ana', pasword: 'x' } as never), 'pasword'],
    [
      'tokens',
      () => clientCredentials({ tokenUrl: url, clientId: 'x', clientSecret: 'y', scopes: 'z' } as never),
      'scopes',
    ],
  ])('refuse an unknown option of %s', (_, make, name) => {
    expect(make).toThrow(new InterfaceError(`the option ${name} is not known`));
  });

  it('refuse an unknown option of a statement', async () => {
    const cursor = connect({ url, user: 'ana' }).cursor();
    await expect(cursor.execute('SELECT 1', [], { timeoutMs: 5 } as never)).rejects.toThrow('timeoutMs');
  });

  it('ask for another token when one is refused, once', async () => {
    engine.mode = { kind: 'verified', refusalOf: (token) => (token === 'second' ? null : 'JWT expired') };
    const refusals: (string | null)[] = [];
    const token = (refused: string | null) => {
      refusals.push(refused);
      return refusals.some((one) => one === 'first') ? Promise.resolve('second') : 'first';
    };
    const over = { token, forwardedProto: 'https', headerPrefix: 'X-Query', originalUser: 'tool' } as const;
    expect(await run('SELECT 1', over)).toEqual([[1]]);
    expect(refusals.filter((one) => one !== null)).toEqual(['first']);
    await expect(run('SELECT 1', { ...over, token: () => 'third' })).rejects.toMatchObject({ isRetriable: false });
  });

  it('throw an OperationalError, worth another try, where no token can be had', async () => {
    const failing = run('SELECT 1', { token: () => Promise.reject(new Error('no keys')), forwardedProto: 'https' });

    await expect(failing).rejects.toBeInstanceOf(OperationalError);
    await expect(failing).rejects.toMatchObject({ isRetriable: true, message: 'no service-account token: no keys' });
    expect(engine.requests).toEqual([]);
  });

  it('share the tokens of one client', async () => {
    const keycloak = new FakeKeycloak();
    const tokenUrl = `${await keycloak.listen()}/protocol/openid-connect/token`;
    const token = clientCredentials({ tokenUrl, clientId: 'grantline', clientSecret: 'grantline-secret' });
    engine.mode = { kind: 'verified', refusalOf: (given) => (given === FakeKeycloak.token(1) ? null : 'unknown') };
    const runs = Array.from({ length: 3 }, () => run('SELECT 1', { token, forwardedProto: 'https' }));

    expect(await Promise.all(runs)).toEqual([[[1]], [[1]], [[1]]]);
    expect(keycloak.requests).toHaveLength(1);
    await keycloak.close();
  });

  it.each<[string, object]>([
    ['a token over plain HTTP', { url: 'http://trino.example', token: () => 'secret' }],
    ['a password over plain HTTP', { url: 'http://trino.example', password: 'secret' }],
    ['extra credentials over plain HTTP', { url: 'http://trino.example', extraCredentials: { a: 'secret' } }],
    ['a password beside a token', { token: () => 'secret', password: 'secret' }],
    ['a password of a user with a colon', { user: 'a:b', password: 'secret' }],
    ['a query', { url: 'http://127.0.0.1/trino?x=1' }],
    ['an encoded path', { url: 'http://127.0.0.1/a%2Fb' }],
    ['a header of its own', { headers: { 'x-trino-user': 'root' } }],
    ['a header that cannot be sent', { headers: { 'X-Key': 'a\r\nX-Trino-User: root' } }],
    ['a family that does not exist', { headerPrefix: 'X-Presto' }],
    ['a compression that does not exist', { compression: 'zstd' }],
    ['tags that are no list', { clientTags: 'etl' }],
    ['credentials', { url: 'http://ana:secret@127.0.0.1' }],
    ['another protocol', { url: 'ftp://127.0.0.1' }],
    ['no address', { url: '127.0.0.1' }],
  ])('refuse %s', (_, options) => {
    expect(() => connect({ url, user: 'ana', ...options })).toThrow(InterfaceError);
  });

  it('warn of a type that is not known, whose values are text', async () => {
    engine.answers('SELECT shape', { columns: [column('s', 'Shape')], data: [[{ x: [1] }]] });
    const warnings: unknown[] = [];
    const onWarning = (...warning: unknown[]) => void warnings.push(warning);

    expect(await run('SELECT shape', { onWarning })).toEqual([['{"x":[1]}']]);
    expect(warnings).toEqual([['the engine sent a type that is not known here', { type: 'Shape' }]]);
  });

  it('describe rows with the names of their fields', async () => {
    const typeSignature = {
      rawType: 'row',
      arguments: [{ kind: 'NAMED_TYPE', value: { fieldName: { name: 'a' }, typeSignature: { rawType: 'bigint' } } }],
    };
    engine.answers('SELECT r', { columns: [{ name: 'r', type: 'row(a bigint)', typeSignature }], data: [[[7]]] });
    const connection = connect({ url, user: 'ana' });
    const cursor = connection.cursor();
    await cursor.execute('SELECT r');

    const fields = [{ name: 'a', type: { kind: 'bigint' } }];
    expect(cursor.description?.[0]).toMatchObject({ type: { kind: 'row', fields } });
    const [value] = (await cursor.fetchOne()) ?? [];
    expect(value instanceof NamedRow ? [value.get('a'), value.names] : value).toEqual([7n, ['a']]);
    await connection.close();
  });
});
