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

  it('does not take over a request id that could forge a log line', async () => {
    const answer = await fetch(`${service.url}/nowhere`, { headers: { 'X-Request-Id': 'a b' } });

    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});
