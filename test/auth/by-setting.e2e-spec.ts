import { randomBytes } from 'node:crypto';
import { administrator } from '../support/service/administrator.js';
import { ApiClient, passwordOf, registrant, signIn } from '../support/service/api-client.js';
import { apiToken } from '../support/service/api-tokens.js';
import { sharedService, startService } from '../support/service/service.js';

const OURS = 'https://app.example.org';

describe('what settings open and close', () => {
  const service = sharedService({
    AUTH_REGISTRATION_ENABLED: 'false',
    CORS_ORIGINS: OURS,
    AUTH_REFRESH_REPEAT_SECONDS: '30',
  });

  it('registration is closed: 403, and accounts are still made on the command line and by administrators', async () => {
    const answer = await new ApiClient(service.url).post('/api/auth/register', registrant('ana'));

    expect([answer.status, answer.body?.['code']]).toEqual([403, 'registration_closed']);
    const admin = await administrator(service);
    expect((await admin.get('/api/auth/me')).status).toBe(200);
    expect((await admin.post('/api/admin/users', { username: 'ana' })).status).toBe(201);
  });

  it('a closed registration is not the answer to an invalid body', async () => {
    expect((await new ApiClient(service.url).post('/api/auth/register', { username: 'ana' })).status).toBe(400);
  });

  it('an answer that was lost: the same refresh token gets the same pair again for a time, while the next is unused', async () => {
    const client = await administrator(service, 'on_a_train');
    const { refresh_token } = await signIn(client, 'on_a_train');
    const refresh = (token: unknown) => client.post('/api/auth/refresh', { refresh_token: token });
    const { body: lost } = await refresh(refresh_token);
    service.clock.advance(20);
    const { body: again } = await refresh(refresh_token);
    expect(again).toEqual({ ...lost, expires_in: Number(lost?.['expires_in']) - 20 });
    const next = await refresh(again?.['refresh_token']);
    expect(next.status).toBe(200);
    expect((await refresh(again?.['refresh_token'])).body).toEqual(next.body);
    service.clock.advance(30);
    expect((await refresh(again?.['refresh_token'])).status).toBe(401);
    expect((await refresh(next.body?.['refresh_token'])).status).toBe(401);
  });

  it('another key ends everything that was issued before: tokens of both kinds, API tokens, sessions of the console', async () => {
    const admin = await administrator(service, 'of_the_former_key');
    const { token } = await apiToken(admin, service.clock.now(), 'access.read');
    const { access_token, refresh_token } = await signIn(admin, 'of_the_former_key');
    const username = 'of_the_former_key';
    const opened = await admin.post('/api/auth/console-session', { username, password: passwordOf(username) });
    const Cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const answers = async ({ url }: { url: string }) => {
      const client = new ApiClient(url);
      const bearer = (text: string) => client.as(text).get('/api/auth/me');
      const cookie = client.send('GET', '/api/auth/me', undefined, { Cookie, 'Sec-Fetch-Site': 'same-origin' });
      const refreshed = client.post('/api/auth/refresh', { refresh_token });
      return (await Promise.all([bearer(access_token), bearer(token), cookie, refreshed])).map(({ status }) => status);
    };
    const { database, clock } = service;
    expect(await answers(service)).toEqual([200, 200, 200, 200]);
    const next = await startService({ AUTH_SECRET_KEY: randomBytes(32).toString('base64') }, { database, clock });
    const ended = await answers(next);
    await next.stop();
    expect(ended).toEqual([401, 401, 401, 401]);
  });

  it('a page of an allowed origin may ask, and may send the headers that it needs', async () => {
    const preflight = await fetch(`${service.url}/api/auth/me`, {
      method: 'OPTIONS',
      headers: {
        Origin: OURS,
        'Access-Control-Request-Method': 'PATCH',
        'Access-Control-Request-Headers': 'authorization, content-type',
      },
    });
    const asked = await fetch(`${service.url}/api/auth/me`, { headers: { Origin: OURS } });

    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization, content-type');
    for (const { headers } of [preflight, asked]) {
      expect(headers.get('access-control-allow-origin')).toBe(OURS);
      expect(headers.get('access-control-allow-credentials')).toBeNull();
      expect(headers.get('vary')).toContain('Origin');
    }
  });

  it('OPTIONS without an origin is answered without a text of another kind', async () => {
    const { status, headers } = await fetch(`${service.url}/api/auth/me`, { method: 'OPTIONS' });

    expect([status, headers.get('content-type')]).toEqual([204, null]);
  });

  it('a page of any other origin hears nothing of it', async () => {
    const asked = await fetch(`${service.url}/api/auth/me`, {
      headers: { Origin: 'https://app.example.org.evil.test' },
    });

    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
  });
});
