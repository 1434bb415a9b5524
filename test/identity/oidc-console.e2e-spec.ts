import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';

const COOKIE = '__Host-grantline';

describe('signing in at the identity provider from the web console', () => {
  const { service, provider, client } = sharedOidcService();
  const meOf = (browser: OidcBrowser) =>
    client.send('GET', '/api/auth/me', undefined, {
      Cookie: `${COOKIE}=${browser.cookies.get(COOKIE) ?? ''}`,
      'Sec-Fetch-Site': 'same-origin',
    });
  const comeBack = (browser: OidcBrowser, answer: URLSearchParams) =>
    browser.go(`/api/auth/oidc/callback?${answer.toString()}`);

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
});
