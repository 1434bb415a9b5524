import { request } from 'node:http';
import { sharedAdministrator } from '../support/service/administrator.js';
import { ApiClient, signedUp } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

describe('HTTP edges', () => {
  const service = sharedService();
  const admin = sharedAdministrator(service);

  it('answers an unknown path with a problem document that carries the request id', async () => {
    const answer = await fetch(`${service.url}/nowhere`, { headers: { 'X-Request-Id': 'from-the-client' } });

    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(answer.headers.get('x-request-id')).toBe('from-the-client');
    expect(await answer.json()).toEqual({
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      detail: 'Not found.',
      code: 'not_found',
      request_id: 'from-the-client',
    });
  });

  it('serves the same asset compressed and not, as it is asked to', async () => {
    const get = (coding: string) =>
      fetch(`${service.url}/api/docs/swagger-ui-bundle.js`, { headers: { 'Accept-Encoding': coding } });
    const [compressed, plain] = [await get('gzip, br'), await get('identity')];

    const coding = ({ headers }: Response) => [headers.get('content-encoding'), headers.get('vary')];
    const length = ({ headers }: Response) => Number(headers.get('content-length'));
    expect(coding(compressed)).toEqual(['gzip', 'Accept-Encoding']);
    expect(coding(plain)).toEqual([null, 'Accept-Encoding']);
    expect(length(compressed)).toBeLessThan(length(plain) / 3);
    expect(await compressed.text()).toBe(await plain.text());
  });

  it('answers a wrong method with 405 and what is allowed', async () => {
    const answer = await fetch(`${service.url}/api/openapi.json`, { method: 'DELETE' });

    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });

  it.each(['/api/auth/me', '/nowhere', '/api/openapi.json'])(
    'sends browsers the security headers for %s',
    async (path) => {
      const { headers } = await fetch(service.url + path);

      expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
      expect(headers.get('strict-transport-security')).toBe('max-age=31536000; includeSubDomains');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    },
  );

  it.each([
    ['QUERY', '/api/auth/me', 405, 'GET, HEAD, PATCH'],
    ['PROPFIND', '/api/auth/me', 405, 'GET, HEAD, PATCH'],
    ['BREW', '/api/auth/me', 405, 'GET, HEAD, PATCH'],
    ['BREW', '/nowhere', 404, undefined],
    ['QUERY', '/nowhere', 404, undefined],
    ['BREW', '/v1/statement', 405, ''],
    ['QUERY', '/v1/statement/queued', 405, ''],
    ['GET', '/api/admin/grants/batch', 405, 'POST'],
  ])('answers %s %s with %i', async (method, path, status, allow) => {
    const answer = await raw(service.url + path, method);

    expect({ status: answer.status, allow: answer.headers['allow'] }).toEqual({ status, allow });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(JSON.parse(answer.body)).toMatchObject({ status, request_id: answer.headers['x-request-id'] });
  });

  const cursor = (text: string): string => Buffer.from(text).toString('base64url');
  it.each([
    ...['users', 'groups', 'grants', 'policies', 'groups/1/members', 'acl/publications'].flatMap((list) => [
      `/api/admin/${list}?after=${cursor('after:2147483648')}`,
      `/api/admin/${list}?after=${cursor('after:999999999999999')}`,
    ]),
    `/api/queries?after=${cursor(`zzzzzzzz.${'-'.repeat(36)}`)}`,
    `/api/queries?after=${cursor(`zzzzzzzz.${'a'.repeat(36)}`)}`,
  ])('refuses a forged cursor: %s', async (path) => {
    expect(await admin.get(path)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'after', message: 'must be the `next` of an earlier page' }] },
    });
  });

  it('takes larger keys for the cursor of a list that may have them', async () => {
    expect(await admin.get(`/api/admin/audit?after=${cursor('after:999999999999999')}`)).toMatchObject({
      status: 200,
    });
  });

  it.each([
    ['a search for NUL', '/api/admin/users?q=%00'],
    ['NUL in a name', '/api/admin/audit?user=%00'],
    ['a parameter twice', '/api/admin/users?q=a&q=b'],
    ['an unknown parameter', '/api/admin/users?sort=id'],
    ['an inherited name as a parameter', '/api/admin/users?constructor=a'],
  ])('refuses %s', async (_, path) => {
    expect(await admin.get(path)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  });

  it('takes no body for what it is: none, also where every field may be absent', async () => {
    for (const [method, path] of [
      ['POST', '/api/auth/login'],
      ['POST', '/api/admin/grants/batch'],
      ['PATCH', '/api/admin/users/1'],
    ] as const) {
      expect(await admin.send(method, path)).toMatchObject({ status: 400, body: { code: 'malformed_json' } });
    }
  });

  it('does not take over a request id that could forge a log line', async () => {
    const answer = await fetch(`${service.url}/nowhere`, { headers: { 'X-Request-Id': 'a b' } });

    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('answers a path that cannot be decoded like any other refusal', async () => {
    const answer = await fetch(`${service.url}/api/auth/%zz`);

    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'bad_request' });
  });

  it('answers a query of more than a hundred parameters before it reads one', async () => {
    const answers = await Promise.all(
      [99, 100].map((more) => fetch(`${service.url}/api/auth/me?${'a=&'.repeat(more)}b=`)),
    );

    expect(answers.map(({ status }) => status)).toEqual([401, 400]);
    expect(await answers[1]?.json()).toMatchObject({
      code: 'bad_request',
      detail: 'There are more than 100 parameters.',
    });
  });

  it.each<[name: string, headers: Record<string, string>, body: string | Buffer, status: number, code: string]>([
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'a=b', 415, 'unsupported_media_type'],
    ['another charset', { 'Content-Type': 'application/json; charset=latin1' }, '{}', 415, 'unsupported_media_type'],
    ['a compressed body', { 'Content-Encoding': 'gzip' }, '{}', 415, 'unsupported_media_type'],
    [
      'a long body of another type',
      { 'Content-Type': 'text/plain' },
      'a'.repeat(17_000),
      415,
      'unsupported_media_type',
    ],
    ['no body, of any type', { 'Content-Type': 'text/plain' }, '', 400, 'malformed_json'],
    ['a key twice', {}, '{"username": "a", "username": "b"}', 400, 'malformed_json'],
    ['a list', {}, '[]', 400, 'malformed_json'],
    ['text after the end', {}, '{} {}', 400, 'malformed_json'],
    ['an unpaired surrogate', {}, '{"username": "\\ud800"}', 400, 'malformed_json'],
    ['bytes that are no UTF-8', {}, Buffer.from([0x7b, 0xff, 0x7d]), 400, 'malformed_json'],
    ['deep nesting', {}, `{"a": ${'['.repeat(2000)}${']'.repeat(2000)}}`, 400, 'malformed_json'],
    ['an unknown field', {}, '{"username": "a", "password": "b", "role": "admin"}', 400, 'validation_failed'],
    ['an inherited name', {}, '{"username": "a", "password": "b", "__proto__": {}}', 400, 'validation_failed'],
    ['another inherited name', {}, '{"username": "a", "password": "b", "constructor": {}}', 400, 'validation_failed'],
    ['too many members', {}, JSON.stringify(Object.assign({}, 'k'.repeat(101))), 413, 'payload_too_large'],
    ['more values than a login has', {}, JSON.stringify({ username: Array(200).fill({}) }), 413, 'payload_too_large'],
    ['a body over 16 KiB', {}, `{"username": "${'a'.repeat(17_000)}"}`, 413, 'payload_too_large'],
  ])('refuses %s', async (_, headers, body, status, code) => {
    const answer = await fetch(`${service.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });

    expect({ status: answer.status, ...((await answer.json()) as object) }).toMatchObject({ status, code });
  });

  it('takes no body of more values than can be judged at once', async () => {
    const grants = Array<object>(20_000).fill({});

    expect(await admin.post('/api/admin/grants/batch', { grant: grants })).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large' },
    });
  });

  const long = (count: number): string => '\u0001'.repeat(count);
  const fields = (count: number, name: (at: number) => string): string =>
    `{${Array.from({ length: count }, (_, at) => `${JSON.stringify(name(at))}:0`).join()}}`;
  const batch = (count: number): string => `{"grant": [${Array<string>(count).fill('{}').join()}]}`;
  it.each<[name: string, path: string, body: string, code: string, errors: number]>([
    ['1,000 wrong parts', '/api/admin/grants/batch', batch(1000), 'validation_failed', 20],
    ['wrong parts that are too many', '/api/admin/grants/batch', batch(4000), 'validation_failed', 1],
    ['10,000 unknown fields', '/api/admin/groups', fields(10_000, String), 'validation_failed', 20],
    [
      'unknown fields of long names',
      '/api/admin/groups',
      fields(50, (at) => `${at}${long(1000)}`),
      'validation_failed',
      5,
    ],
    ['a field of a name of 300 KB', '/api/admin/groups', fields(1, () => long(50_000)), 'validation_failed', 1],
    ['that field twice', '/api/admin/groups', fields(2, () => long(50_000)), 'malformed_json', 0],
    ['keys that are all the same', '/api/admin/groups', fields(10_000, () => 'a'), 'malformed_json', 0],
    ['unknown fields of a login', '/api/auth/login', fields(100, String), 'validation_failed', 20],
  ])('names the first 20 errors, in less than 8 KiB: %s', async (_, path, body, code, errors) => {
    const answer = await admin.send('POST', path, body);
    const reported = (answer.body?.['errors'] ?? []) as unknown[];
    expect({ status: answer.status, code: answer.body?.['code'] }).toEqual({ status: 400, code });
    expect(reported.length).toBeLessThanOrEqual(20);
    expect(reported.length).toBeGreaterThanOrEqual(errors);
    expect(Number(answer.headers.get('content-length'))).toBeLessThan(8 * 1024);
  });

  it.each(['prototype', 'constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'takes no field named %s, on any level',
    async (name) => {
      const top = `{"name": "some_group", "${name}": 1}`;
      const nested = `{"principal": {"type": "user", "id": 1, "${name}": {}}, "resource": {"catalog": "a"}, "privileges": ["SELECT"]}`;
      const errors = async (path: string, body: string) => {
        const answer = await admin.send('POST', path, body);
        return { status: answer.status, errors: answer.body?.['errors'] };
      };

      expect([await errors('/api/admin/groups', top), await errors('/api/admin/grants', nested)]).toEqual(
        [name, `principal.${name}`].map((field) => ({
          status: 400,
          errors: [{ field, message: 'is not a known field' }],
        })),
      );
    },
  );

  it('answers an unsupported body with the types that are supported', async () => {
    const { headers } = await fetch(`${service.url}/api/auth/login`, { method: 'POST', body: 'a=b' });

    expect([headers.get('accept'), headers.get('accept-encoding')]).toEqual(['application/json', 'identity']);
  });

  it('answers a token that does not open a route with insufficient_scope', async () => {
    const anonymous = new ApiClient(service.url);
    const user = anonymous.as((await signedUp(anonymous, 'some_user')).access_token);
    const { status, headers, body } = await user.get('/api/admin/users');

    expect({ status, title: body?.['title'] }).toEqual({ status: 403, title: 'Forbidden' });
    expect(headers.get('www-authenticate')).toBe('Bearer realm="grantline", error="insufficient_scope"');
  });

  it('forbids caches to store an answer', async () => {
    for (const path of ['/api/auth/me', '/api/admin/users', '/nowhere']) {
      expect((await admin.get(path)).headers.get('cache-control')).toBe('no-store');
    }
  });

  it('reveals nothing about a body to an unauthenticated client', async () => {
    const answer = await fetch(`${service.url}/api/admin/groups`, { method: 'POST', body: 'no JSON' });

    expect(answer.status).toBe(401);
  });
});

/** Methods that fetch does not send. */
function raw(
  url: string,
  method: string,
): Promise<{ status: number | undefined; headers: Record<string, unknown>; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'GET', agent: false }, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body }));
    });
    sent.method = method; // Node checks it when the request is made, and knows neither BREW nor, before version 22, QUERY
    sent.on('error', reject);
    sent.end();
  });
}
