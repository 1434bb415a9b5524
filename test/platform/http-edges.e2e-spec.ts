import { startService, type TestService } from '../support/service.js';

describe('HTTP edges', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  it('answers an unknown path with a problem document that carries the request id', async () => {
    const answer = await fetch(`${service.url}/nowhere`, { headers: { 'X-Request-Id': 'from-the-client' } });

    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(answer.headers.get('x-request-id')).toBe('from-the-client');
    expect(await answer.json()).toEqual({
      type: 'about:blank',
      title: 'Not found',
      status: 404,
      detail: 'Not found.',
      code: 'not_found',
      request_id: 'from-the-client',
    });
  });

  it('answers a wrong method with 405 and what is allowed', async () => {
    const answer = await fetch(`${service.url}/api/openapi.json`, { method: 'DELETE' });

    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });

  it.each(['/api/auth/me', '/nowhere', '/api/openapi.json'])(
    'tells browsers what nobody may do with %s',
    async (path) => {
      const { headers } = await fetch(service.url + path);

      expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
      expect(headers.get('strict-transport-security')).toBe('max-age=31536000; includeSubDomains');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    },
  );

  it('does not take over a request id that could forge a log line', async () => {
    const answer = await fetch(`${service.url}/nowhere`, { headers: { 'X-Request-Id': 'a b' } });

    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('answers a path that cannot be decoded like any other refusal', async () => {
    const answer = await fetch(`${service.url}/api/auth/%zz`);

    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'bad_request' });
  });

  it.each<[name: string, headers: Record<string, string>, body: string | Buffer, status: number, code: string]>([
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'a=b', 415, 'unsupported_media_type'],
    ['another charset', { 'Content-Type': 'application/json; charset=latin1' }, '{}', 415, 'unsupported_media_type'],
    ['a compressed body', { 'Content-Encoding': 'gzip' }, '{}', 415, 'unsupported_media_type'],
    ['a key twice', {}, '{"username": "a", "username": "b"}', 400, 'malformed_json'],
    ['a list', {}, '[]', 400, 'malformed_json'],
    ['text after the end', {}, '{} {}', 400, 'malformed_json'],
    ['half a character', {}, '{"username": "\\ud800"}', 400, 'malformed_json'],
    ['bytes that are no UTF-8', {}, Buffer.from([0x7b, 0xff, 0x7d]), 400, 'malformed_json'],
    ['deep nesting', {}, `{"a": ${'['.repeat(2000)}${']'.repeat(2000)}}`, 400, 'malformed_json'],
    ['an unknown field', {}, '{"username": "a", "password": "b", "role": "admin"}', 400, 'validation_failed'],
    ['an inherited name', {}, '{"username": "a", "password": "b", "__proto__": {}}', 400, 'validation_failed'],
    ['another inherited name', {}, '{"username": "a", "password": "b", "constructor": {}}', 400, 'validation_failed'],
    ['a body over 16 KiB', {}, `{"username": "${'a'.repeat(17_000)}"}`, 413, 'payload_too_large'],
  ])('refuses %s', async (_, headers, body, status, code) => {
    const answer = await fetch(`${service.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });

    expect({ status: answer.status, ...((await answer.json()) as object) }).toMatchObject({ status, code });
  });

  it('tells a stranger nothing about a body', async () => {
    const answer = await fetch(`${service.url}/api/admin/groups`, { method: 'POST', body: 'no JSON' });

    expect(answer.status).toBe(401);
  });
});
