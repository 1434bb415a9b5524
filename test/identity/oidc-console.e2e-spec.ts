import { administrator } from '../support/service/administrator.js';
import { type Answer, passwordOf, registrant, signIn } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';

const COOKIE = '__Host-grantline';

describe('signing in at the identity provider from the web console', () => {
  const { service, provider, boss, client } = sharedOidcService({
    AUTH_PASSWORD_SIGN_IN_ENABLED: 'false',
    AUTH_THROTTLE_PER_NAME: '4',
  });
  const meOf = (browser: OidcBrowser) =>
    client.send('GET', '/api/auth/me', undefined, {
      Cookie: `${COOKIE}=${browser.cookies.get(COOKIE) ?? ''}`,
      'Sec-Fetch-Site': 'same-origin',
    });
  const comeBack = (browser: OidcBrowser, answer: URLSearchParams) =>
    browser.go(`/api/auth/oidc/callback?${answer.toString()}`);

  it('begin also at the address that all clients have, with a page of the console and without a challenge', async () => {
    for (const [path, status] of [
      ['start?return_to=%2Fme', 302],
      ['console?to=%2Fme', 302],
      ['start?return_to=%2F%09%2Fhost.example', 400],
      ['console?to=%2F%09%2Fhost.example', 400],
      ['console?to=%2F%2Fhost.example', 400],
      ['start?return_to=https%3A%2F%2Fapp.example.org%2Fback', 400],
    ] as const) {
      const answer = await fetch(`${service.url}/api/auth/oidc/${path}`, { redirect: 'manual' });
      expect([path, answer.status]).toEqual([path, status]);
    }
  });

  it('comes back with a session that is a cookie, and no code', async () => {
    const browser = new OidcBrowser(service);
    const location = await browser.go('/api/auth/oidc/console?to=%2Fpeople%3Fq%3Dx');
    const back = await comeBack(browser, provider.signIn(location, { sub: 'f:1:ida', preferred_username: 'ida' }));

    expect(back).toBe('http://127.0.0.1:3000/sign-in?to=%2Fpeople%3Fq%3Dx');
    expect([...browser.cookies.keys()]).toEqual([COOKIE]);
    expect((await meOf(browser)).body).toMatchObject({ username: 'ida' });
    const { body } = await client.send('GET', '/api/auth/sessions', undefined, {
      Cookie: `${COOKIE}=${browser.cookies.get(COOKIE) ?? ''}`,
      'Sec-Fetch-Site': 'same-origin',
    });
    const [session] = body?.['items'] as { created_at: string; expires_at: string }[];
    const hours = (Date.parse(session?.expires_at ?? '') - Date.parse(session?.created_at ?? '')) / 3_600_000;
    expect(hours).toBe(12);
  });

  it('comes back to the sign-in page with what failed, and without a session', async () => {
    const browser = new OidcBrowser(service);
    const location = await browser.go('/api/auth/oidc/console?to=%2Fme');
    const state = new URL(location).searchParams.get('state') ?? '';
    const back = new URL(await comeBack(browser, new URLSearchParams({ error: 'access_denied', state })));
    expect([back.pathname, back.searchParams.get('to'), back.searchParams.get('error')]).toEqual([
      '/sign-in',
      '/me',
      'wrong_issuer',
    ]);
    expect(browser.cookies.size).toBe(0);
  });

  it('goes on to no other site', async () => {
    for (const to of ['https://evil.example', '//evil.example', '/\\evil.example', 'me']) {
      const answer = await client.get(`/api/auth/oidc/console?${new URLSearchParams({ to }).toString()}`);
      expect([answer.status, answer.body?.['code']]).toEqual([400, 'validation_failed']);
    }
  });

  describe('alone, but for administrators', () => {
    const login = (username: string, password = passwordOf(username)): Promise<Answer> =>
      client.post('/api/auth/login', { username, password });
    const numberOf = async (metric: string): Promise<number> =>
      Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(await service.metrics())?.[1]);
    const events = async (event: string, name: string) => {
      const { body } = await boss.get(`/api/admin/audit?event=${event}&user=${name}`);
      return (body?.['items'] as { details: object }[]).map(({ details }) => details);
    };
    const formerAdministrator = async (name: string): Promise<void> => {
      await administrator(service, name);
      const { body } = await boss.get(`/api/admin/users?q=${name}`);
      const [account] = body?.['items'] as { id: number }[];
      await boss.patch(`/api/admin/users/${String(account?.id)}`, { role: 'user' });
    };

    it('is told to pages for signing in', async () => {
      expect((await client.get('/api/auth/oidc')).body).toMatchObject({ enabled: true, password_sign_in: false });
    });

    it('opens to nobody else by a password, and says neither that it is right nor whose account is an administrator’s', async () => {
      await formerAdministrator('kim');
      await administrator(service, 'lea');
      const attempts = [
        ['kim', passwordOf('kim')],
        ['kim', 'a guess'],
        ['lea', 'a guess'],
        ['nobody', 'a guess'],
      ] as const;
      for (const path of ['/api/auth/login', '/api/auth/console-session']) {
        const answers = new Set<string>();
        for (const [username, password] of attempts) {
          const hashed = await numberOf('grantline_password_hash_wait_seconds_count');
          const { status, headers, body } = await client.post(path, { username, password });
          const { request_id, ...rest } = body ?? {};
          const [requestId, date] = [headers.get('x-request-id'), headers.get('date')];
          const others = [...headers].filter(([, value]) => value !== requestId && value !== date);
          expect([request_id, rest['code']]).toEqual([requestId, 'password_sign_in_disabled']);
          answers.add(JSON.stringify([status, others, rest]));
          expect(await numberOf('grantline_password_hash_wait_seconds_count')).toBe(hashed + 1);
        }
        expect([...answers]).toEqual([expect.stringMatching(/^\[403,/)]);
      }
      const [disabled, guess] = ['password_sign_in_disabled', 'invalid_credentials'];
      expect(await events('login_failed', 'kim')).toEqual(Array(4).fill({ reason: disabled }));
      expect(await events('login_failed', 'lea')).toEqual(Array(2).fill({ reason: guess }));
    });

    it('throttles them as ever: a right password buys no further guesses', async () => {
      await formerAdministrator('max');
      await administrator(service, 'nia');
      for (const name of ['max', 'nia']) {
        for (const password of ['a guess', 'another', 'a third', name === 'max' ? passwordOf(name) : 'a fourth']) {
          expect((await login(name, password)).status).toBe(403);
        }
        expect((await login(name)).status).toBe(429);
      }
    });

    it('is registered for by nobody', async () => {
      expect(await client.post('/api/auth/register', registrant('ole'))).toMatchObject({
        status: 403,
        body: { code: 'password_sign_in_disabled' },
      });
      expect((await client.post('/api/auth/register', { username: 'ole' })).status).toBe(400);
    });

    it('is not lost by a one-time password, which only an administrator could sign in with', async () => {
      const refusal = { status: 403, body: { code: 'password_sign_in_disabled' } };
      expect(await boss.post('/api/admin/users', { username: 'rosa', one_time_password: true })).toMatchObject(refusal);
      const { body } = await boss.post('/api/admin/users', { username: 'rosa' });
      expect(await boss.post(`/api/admin/users/${String(body?.['id'])}/one-time-password`)).toMatchObject(refusal);
      const browser = new OidcBrowser(service);
      const back = await browser.signIn(provider, { sub: 'f:1:rosa', preferred_username: 'rosa' });
      expect(back).toEqual({ code: expect.any(String) as string });
      const made = await boss.post('/api/admin/users', { username: 'sven', role: 'admin', one_time_password: true });
      expect((await login('sven', String(made.body?.['one_time_password']))).status).toBe(200);
    });

    it('can be passed by administrators, which is recorded and counted', async () => {
      await administrator(service, 'pia');
      const counted = await numberOf('grantline_break_glass_sign_ins_total');
      const pia = client.as((await signIn(client, 'pia')).access_token);
      const browser = new OidcBrowser(service);
      const credentials = { username: 'pia', password: passwordOf('pia') };
      expect((await browser.ask('POST', '/api/auth/console-session', credentials)).status).toBe(204);
      expect(await numberOf('grantline_break_glass_sign_ins_total')).toBe(counted + 2);
      expect((await events('login_succeeded', 'pia')).slice(0, 2)).toEqual([
        { by: 'console', break_glass: true },
        { break_glass: true },
      ]);

      const { password } = credentials;
      expect((await browser.ask('POST', '/api/auth/console-session/confirm', { password })).status).toBe(204);
      const next = { current_password: password, new_password: 'quite another one' };
      expect((await pia.post('/api/auth/password', next)).status).toBe(204);
      expect((await login('pia', 'quite another one')).status).toBe(200);
      const { body } = await pia.get('/api/auth/me');
      await boss.patch(`/api/admin/users/${String(body?.['id'])}`, { is_active: false });
      expect((await login('pia', 'quite another one')).body?.['code']).toBe('account_deactivated');
      expect((await login('pia')).body?.['code']).toBe('password_sign_in_disabled');
    });

    it('is no break glass', async () => {
      const counted = await numberOf('grantline_break_glass_sign_ins_total');
      const browser = new OidcBrowser(service);
      const location = await browser.go('/api/auth/oidc/console?to=%2Fme');
      await comeBack(browser, provider.signIn(location, { sub: 'f:1:quin', preferred_username: 'quin' }));
      expect(await events('login_succeeded', 'quin')).toEqual([{ by: 'oidc' }]);
      expect(await numberOf('grantline_break_glass_sign_ins_total')).toBe(counted);
    });
  });
});
