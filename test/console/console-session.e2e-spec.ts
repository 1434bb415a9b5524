import { ApiClient, type Answer, passwordOf, signedUp } from '../support/service/api-client.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { administrator } from '../support/service/administrator.js';
import { sharedService, startService, type TestService } from '../support/service/service.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';

const SESSION = '/api/auth/console-session';

describe('the session of the web console', () => {
  const service = sharedService({ AUTH_CONSOLE_IDLE_HOURS: '8' });
  const anonymous = new ApiClient(service);

  const openedFor = async (username: string): Promise<{ answer: Answer; cookie: string }> => {
    const answer = await anonymous.post(SESSION, { username, password: passwordOf(username) });
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
    return { answer, cookie };
  };
  const openTokens = async (username: string): Promise<{ access_token: string }> => {
    const { body } = await anonymous.post('/api/auth/login', { username, password: passwordOf(username) });
    return body as unknown as { access_token: string };
  };
  const withCookie = (cookie: string, method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
    anonymous.send(method, path, body, { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin', ...headers });
  const outcomeOf = ({ status, body }: Answer): unknown[] => [status, body?.['code'] ?? null];

  it('is a cookie that no script and no other site can use, and is listed and ended like others', async () => {
    const { access_token } = await signedUp(anonymous, 'ana');
    const { answer, cookie } = await openedFor('ana');

    expect([answer.status, answer.body]).toEqual([204, null]);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-grantline=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    );
    expect((await withCookie(cookie, 'GET', '/api/auth/me')).body).toMatchObject({ username: 'ana' });
    expect((await withCookie(cookie, 'GET', SESSION)).body).toMatchObject({
      account: { username: 'ana', role: 'user' },
    });
    const beside = await withCookie(cookie, 'GET', SESSION, undefined, { Authorization: 'Bearer of-somebody' });
    expect(beside.body).toMatchObject({ account: null });
    // A neighbouring host can set a cookie of that name, in which a browser sees no prefix.
    expect((await withCookie(`a=b; \u00a0${cookie}`, 'GET', SESSION)).body).toMatchObject({ account: null });
    const sessions = (await withCookie(cookie, 'GET', '/api/auth/sessions')).body?.['items'] as { current: boolean }[];
    expect(sessions.map(({ current }) => current)).toEqual([true, false]);

    const out = await withCookie(cookie, 'DELETE', SESSION);
    expect([out.status, out.headers.get('clear-site-data'), out.headers.get('set-cookie')]).toEqual([
      204,
      '"cookies", "storage"',
      '__Host-grantline=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
    expect(outcomeOf(await withCookie(cookie, 'GET', '/api/auth/me'))).toEqual([401, 'token_invalid']);
    expect((await anonymous.as(access_token).get('/api/auth/me')).status).toBe(200);
  });

  it('refuses what comes with the cookie from elsewhere, GET and forms included', async () => {
    await signedUp(anonymous, 'bea');
    const { cookie } = await openedFor('bea');
    const from = (headers: Record<string, string>): Promise<Answer> =>
      anonymous.send('GET', '/api/auth/me', undefined, { Cookie: cookie, ...headers });

    const own = service.url;
    for (const headers of [{ 'Sec-Fetch-Site': 'same-origin' }, { Origin: own }, { Referer: `${own}/me` }] as Record<
      string,
      string
    >[]) {
      expect((await from(headers)).status).toBe(200);
    }
    for (const headers of [
      {},
      { 'Sec-Fetch-Site': 'none' },
      { 'Sec-Fetch-Site': 'same-site', Origin: own },
      { 'Sec-Fetch-Site': 'cross-site' },
      { Origin: 'http://127.0.0.1:1' },
      { Origin: 'null' },
      { Referer: 'http://127.0.0.1:1/' },
    ] as Record<string, string>[]) {
      expect(outcomeOf(await from(headers))).toEqual([403, 'cross_site']);
    }
    const form = await anonymous.send('POST', '/api/auth/logout', 'a=b', {
      Cookie: cookie,
      'Content-Type': 'application/x-www-form-urlencoded',
      'Sec-Fetch-Site': 'same-site',
    });
    expect(outcomeOf(form)).toEqual([403, 'cross_site']);
    // Routes are found by the decoded path.
    const encoded = await anonymous.send('POST', '/%61pi/auth/logout-all', undefined, {
      Cookie: cookie,
      'Sec-Fetch-Site': 'same-site',
    });
    expect(outcomeOf(encoded)).toEqual([403, 'cross_site']);
    const provider = '/api/auth/oidc/start?return_to=https://a.example/&code_challenge=x';
    for (const path of ['/', '/people/1', provider, '/api/docs']) {
      expect((await fetch(service.url + path, { headers: { Cookie: cookie } })).status).not.toBe(403);
    }
    expect((await fetch(`${service.url}//`, { headers: { Cookie: cookie } })).status).toBe(404);
  });

  it('is ignored beside an Authorization header', async () => {
    await signedUp(anonymous, 'cleo');
    const { cookie } = await openedFor('cleo');
    const headers = { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' };
    const dora = anonymous.as((await signedUp(anonymous, 'dora')).access_token);

    expect((await dora.send('GET', '/api/auth/me', undefined, headers)).body).toMatchObject({ username: 'dora' });
    expect((await anonymous.as('no.valid.token').send('GET', '/api/auth/me', undefined, headers)).status).toBe(401);
  });

  it('ends unused for eight hours, and after its days however much it is used', async () => {
    await signedUp(anonymous, 'emil');
    const { cookie } = await openedFor('emil');
    const status = async (): Promise<number> => (await withCookie(cookie, 'GET', '/api/auth/me')).status;

    service.clock.advance(8 * 3600 - 1);
    expect(await status()).toBe(200);
    service.clock.advance(8 * 3600 - 1);
    expect(await status()).toBe(200);
    service.clock.advance(8 * 3600);
    expect(await status()).toBe(401);
    const { body } = await anonymous.as((await openTokens('emil')).access_token).get('/api/auth/sessions');
    expect(body?.['items']).toHaveLength(2); // both with tokens

    const { cookie: busy } = await openedFor('emil');
    for (let quarter = 0; quarter < 4 * 30 - 1; quarter += 1) {
      service.clock.advance(6 * 3600);
      expect((await withCookie(busy, 'GET', '/api/auth/me')).status).toBe(200);
    }
    service.clock.advance(6 * 3600);
    expect((await withCookie(busy, 'GET', '/api/auth/me')).status).toBe(401);
  });

  it('ends unused for eight hours, also while an open page polls', async () => {
    await administrator(service, 'nina');
    const { cookie } = await openedFor('nina');
    const poll = async (): Promise<unknown[]> => [
      (await withCookie(cookie, 'GET', '/api/admin/acl/status')).status,
      // The page of publishing reads the list again after a run that was refused.
      (await withCookie(cookie, 'GET', '/api/admin/acl/publications?runs=all')).status,
      (await withCookie(cookie, 'GET', SESSION)).body?.['account'],
    ];

    for (let hour = 1; hour < 8; hour += 1) {
      service.clock.advance(3600);
      expect(await poll()).toEqual([200, 200, expect.objectContaining({ username: 'nina' })]);
    }
    service.clock.advance(3600);
    expect(await poll()).toEqual([401, 401, null]);
  });

  it('asks for the password again before somebody is promoted, and before a change is approved', async () => {
    const admin = await administrator(service);
    const { cookie } = await openedFor('admin');
    const { id } = await signedUp(anonymous, 'fritz');
    const promote = (): Promise<Answer> => withCookie(cookie, 'PATCH', `/api/admin/users/${id}`, { role: 'admin' });
    const approve = (): Promise<Answer> =>
      withCookie(cookie, 'POST', '/api/admin/acl/approvals', { hash: 'a'.repeat(64) });
    const confirm = (password: string): Promise<Answer> =>
      withCookie(cookie, 'POST', `${SESSION}/confirm`, { password });

    service.clock.advance(301);
    for (const answer of [await promote(), await approve()]) {
      expect(outcomeOf(answer)).toEqual([403, 'reauthentication_required']);
    }
    expect((await withCookie(cookie, 'PATCH', `/api/admin/users/${id}`, { role: 'user' })).status).toBe(200);
    expect(outcomeOf(await confirm('a guess'))).toEqual([401, 'invalid_credentials']);
    expect((await confirm(passwordOf('admin'))).status).toBe(204);
    expect((await promote()).status).toBe(200);
    expect(outcomeOf(await approve())).toEqual([409, 'approval_not_awaited']);
    expect((await admin.patch(`/api/admin/users/${id}`, { role: 'admin' })).status).toBe(200);
  });

  it('is signed in to as with tokens: throttled, recorded, and with a one-time password only to change it', async () => {
    const { id } = await signedUp(anonymous, 'gustav');
    const boss = await administrator(service, 'boss');
    const wrong = await anonymous.post(SESSION, { username: 'gustav', password: 'wrong' });
    expect(outcomeOf(wrong)).toEqual([401, 'invalid_credentials']);

    const { body } = await boss.post(`/api/admin/users/${id}/one-time-password`);
    const oneTime = String(body?.['one_time_password']);
    const answer = await anonymous.post(SESSION, { username: 'gustav', password: oneTime });
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
    expect(outcomeOf(await withCookie(cookie, 'GET', '/api/access/effective'))).toEqual([
      403,
      'password_change_required',
    ]);
    const change = { current_password: oneTime, new_password: passwordOf('gustav') };
    expect((await withCookie(cookie, 'POST', '/api/auth/password', change)).status).toBe(204);
    expect((await withCookie(cookie, 'GET', '/api/access/effective')).status).toBe(200);

    const events = (await boss.get('/api/admin/audit?limit=200')).body?.['items'] as Record<string, unknown>[];
    const signedIn = events.find(({ event, details }) => event === 'login_succeeded' && details !== null);
    expect(JSON.stringify(signedIn)).toContain('console');
  });
});

describe('the pages of the web console', () => {
  const service = sharedService();
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(service.url + path, { headers });

  it('come under a policy that allows nothing of other origins, and load files that never change', async () => {
    const page = await get('/me', { 'Accept-Encoding': 'gzip' });
    const text = await page.text();
    expect([page.status, page.headers.get('content-type'), page.headers.get('content-encoding')]).toEqual([
      200,
      'text/html; charset=utf-8',
      'gzip',
    ]);
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    const files = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(files.length).toBeGreaterThan(2);
    for (const path of files) {
      const file = await get(path, { 'Accept-Encoding': 'br' });
      expect([file.status, file.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
    }
    expect(text).not.toMatch(/https?:\/\//);
  });

  it('are at their addresses alone', async () => {
    expect((await get('/me/x')).status).toBe(404);
    expect((await get('/assets/none.js')).status).toBe(404);
    expect((await fetch(`${service.url}/me`, { method: 'POST' })).status).toBe(405);
  });

  it('say that nobody is an administrator yet, until somebody is', async () => {
    const start = async (): Promise<unknown> => (await get('/api/auth/console-session')).json();
    expect(await start()).toEqual({ account: null, has_administrator: false });
    await administrator(service);
    expect(await start()).toEqual({ account: null, has_administrator: true });
  });
});

describe('strangers who ask the web console who they are', () => {
  let [database, proxy, service]: [TestDatabase, TcpProxy, TestService] = [] as never;
  beforeAll(async () => {
    database = await freshDatabase();
    proxy = await TcpProxy.to(database.url);
    service = await startService({}, { database: { ...database, url: proxy.url } });
  });
  afterAll(async () => {
    await service.stop();
    await proxy.down();
    await database.drop();
  });

  it('ask nothing of the database for a minute, whatever cookie they have made up', async () => {
    const anonymous = new ApiClient(service.url);
    const ask = (value: string, path = SESSION): Promise<Answer> =>
      anonymous.send('GET', path, undefined, { Cookie: `__Host-grantline=${value}`, 'Sec-Fetch-Site': 'same-origin' });
    await administrator(service);
    const known = { account: null, has_administrator: true };
    expect((await anonymous.get(SESSION)).body).toEqual(known);

    await proxy.down();
    expect((await anonymous.get(SESSION)).body).toEqual(known);
    for (const madeUp of ['x', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}=`]) {
      expect((await ask(madeUp)).body).toEqual(known);
      expect(await ask(madeUp, '/api/auth/me')).toMatchObject({ status: 401, body: { code: 'token_invalid' } });
    }
    expect((await ask('a'.repeat(43))).status).toBe(503);
    service.clock.advance(60);
    expect((await anonymous.get(SESSION)).status).toBe(503);
  });
});

describe('without the web console', () => {
  const service = sharedService({ CONSOLE_ENABLED: 'false' });

  it('there are neither pages nor cookies', async () => {
    expect((await fetch(`${service.url}/`)).status).toBe(404);
    const body = JSON.stringify({ username: 'ana', password: 'x' });
    const headers = { 'Content-Type': 'application/json' };
    expect((await fetch(`${service.url}/api/auth/console-session`, { method: 'POST', headers, body })).status).toBe(
      404,
    );
  });
});
