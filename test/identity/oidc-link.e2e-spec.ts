import { DataSource } from 'typeorm';
import { duringTransaction } from '../support/database/concurrent-transaction.js';
import { passwordOf, signedUp } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';

const COOKIE = '__Host-grantline';

describe('people with a password, who link their account at the provider', () => {
  const { service, provider, clock, boss, client, redeem } = sharedOidcService();
  const comeBack = (browser: OidcBrowser, answer: URLSearchParams) =>
    browser.go(`/api/auth/oidc/callback?${answer.toString()}`);
  const LINK = '/api/auth/oidc/link';
  /** Somebody's browser, in which they signed in with their password. */
  const withPassword = async (name: string): Promise<OidcBrowser> => {
    await signedUp(client, name);
    return again(name);
  };
  const again = async (name: string): Promise<OidcBrowser> => {
    const browser = new OidcBrowser(service);
    const body = { username: name, password: passwordOf(name) };
    expect((await browser.ask('POST', '/api/auth/console-session', body)).status).toBe(204);
    return browser;
  };
  const start = async (browser: OidcBrowser, name: string): Promise<string> => {
    const { status, body } = await browser.ask('POST', LINK, { current_password: passwordOf(name) });
    expect([status, Object.keys(body ?? {})]).toEqual([200, ['link_url']]);
    return String(body?.['link_url']);
  };
  /** @returns the address in the console */
  const finish = async (browser: OidcBrowser, location: string, sub: string): Promise<string> => {
    const back = new URL(await comeBack(browser, provider.signIn(location, { sub, preferred_username: 'admin' })));
    return `${back.pathname} ${back.searchParams.get('error') ?? 'linked'}`;
  };
  const linked = async (name: string, sub: string): Promise<OidcBrowser> => {
    const browser = await withPassword(name);
    expect(await finish(browser, await start(browser, name), sub)).toBe('/me linked');
    return browser;
  };
  const atProvider = async (sub: string, name: string): Promise<OidcBrowser> => {
    const browser = new OidcBrowser(service);
    const location = await browser.go('/api/auth/oidc/console');
    await comeBack(browser, provider.signIn(location, { sub, preferred_username: name }));
    return browser;
  };
  const idOf = async (browser: OidcBrowser) => Number((await browser.ask('GET', '/api/auth/me')).body?.['id']);
  const statusOf = async (browser: OidcBrowser) => (await browser.ask('GET', '/api/auth/me')).status;
  const rows = (text: string, values: unknown[]): Promise<unknown[]> =>
    service.app.get(DataSource).query<unknown[]>(text, values);
  const events = async (event: string, id: number) =>
    (await boss.get(`/api/admin/audit?event=${event}&subject=user:${id}`)).body?.['items'];

  it('do so by a sign-in there anew, whatever they are called there', async () => {
    const lea = await withPassword('lea');
    const id = await idOf(lea);
    expect((await lea.ask('GET', LINK)).body).toEqual({ linked_at: null, issuer: null, subject: null });
    const location = await start(lea, 'lea');
    expect(new URL(location).searchParams.get('max_age')).toBe('0');
    // The session's own cookie does not come along from the provider's site.
    const cookie = lea.cookies.get(COOKIE) ?? '';
    lea.cookies.delete(COOKIE);
    expect(await finish(lea, location, 'sub of lea')).toBe('/me linked');
    expect(lea.cookies.size).toBe(0);
    lea.cookies.set(COOKIE, cookie);
    expect((await lea.ask('GET', LINK)).body).toEqual({
      linked_at: expect.any(String) as string,
      issuer: provider.issuer,
      subject: 'sub of lea',
    });
    expect(await events('account_linked', id)).toMatchObject([{ actor: { name: 'lea' } }]);
    expect(await idOf(await atProvider('sub of lea', 'lea.other'))).toBe(id);
    expect(await idOf(await again('lea'))).toBe(id);
  });

  it('need the password, do so once, and not to somebody who has an account', async () => {
    const max = await withPassword('max');
    const refused = async (password: string) =>
      (await max.ask('POST', LINK, { current_password: password })).body?.['code'];
    expect(await refused('another')).toBe('invalid_credentials');
    await linked('nia', 'sub of nia');
    expect(await finish(max, await start(max, 'max'), 'sub of nia')).toBe('/me person_linked');
    expect(await finish(max, await start(max, 'max'), '')).toBe('/me subject_invalid');
    const [one, other] = [await start(max, 'max'), await start(max, 'max')];
    expect(await finish(max, one, 'sub of max')).toBe('/me linked');
    expect(await finish(max, other, 'sub of max at home')).toBe('/me already_linked');
    expect(await refused(passwordOf('max'))).toBe('already_linked');
    expect(await events('login_failed', await idOf(max))).toMatchObject([
      ...[
        { details: { by: 'oidc', reason: 'already_linked' } },
        { details: { by: 'oidc', reason: 'subject_invalid' } },
      ],
      ...[{ details: { by: 'oidc', reason: 'person_linked' } }, { details: { by: 'confirm' } }],
    ]);
  });

  it.each([
    ['kim', 'before they were asked to', clock.now().getTime() / 1000 - 86_400],
    ['kit', 'at no time that it says', undefined],
  ])('are not whoever the provider knows: %s, who signed in there %s', async (name, _, auth_time) => {
    const browser = await withPassword(name);
    const answer = provider.signIn(await start(browser, name), { sub: `sub of ${name}`, auth_time });
    expect(new URL(await comeBack(browser, answer)).searchParams.get('error')).toBe('not_signed_in_anew');
    expect((await browser.ask('GET', LINK)).body).toMatchObject({ subject: null });
  });

  it('are one of two who claim to be the same person at once', async () => {
    const both = await Promise.all(['one_of_two', 'two_of_two'].map(withPassword));
    const [one = '', two = ''] = await Promise.all(
      both.map((browser, i) => start(browser, i === 0 ? 'one_of_two' : 'two_of_two')),
    );
    const [first, second] = both as [OidcBrowser, OidcBrowser];
    const backs = await Promise.all([finish(first, one, 'contested'), finish(second, two, 'contested')]);
    expect(backs.sort()).toEqual(['/me linked', '/me person_linked']);
  });

  it('need a session that lives, and the browser that began', async () => {
    const otto = await withPassword('otto');
    const location = await start(otto, 'otto');
    const answer = provider.signIn(location, { sub: 'sub of otto' });
    const elsewhere = new URL(await comeBack(await again('otto'), answer));
    expect(elsewhere.searchParams.get('error')).toBe('other_browser');
    const flow = [...otto.cookies].filter(([name]) => name !== COOKIE);
    await otto.ask('DELETE', '/api/auth/console-session');
    for (const [name, value] of flow) otto.cookies.set(name, value);
    expect(await finish(otto, location, 'sub of otto')).toBe('/me session_ended');
  });

  it('do not link it by a password that is changed meanwhile', async () => {
    const sam = await withPassword('sam');
    const answer = provider.signIn(await start(sam, 'sam'), { sub: 'sub of a thief' });
    const back = await duringTransaction(service.database.url, async (other) => {
      const id = await idOf(sam);
      await other.query('UPDATE users SET one_time_until = now() WHERE id = $1', [id]);
      await other.query('UPDATE sessions SET ended_at = now() WHERE user_id = $1', [id]);
      return () => comeBack(sam, answer);
    });
    expect(new URL(back).searchParams.get('error')).toBe('session_ended');
    expect(await rows(`SELECT FROM oidc_people WHERE subject = 'sub of a thief'`, [])).toEqual([]);
  });

  it('unlink it, which ends what began there', async () => {
    const pia = await linked('pia', 'sub of pia');
    const there = await atProvider('sub of pia', 'pia');
    const client = new OidcBrowser(service);
    const { code } = await client.signIn(provider, { sub: 'sub of pia' });
    expect(await statusOf(there)).toBe(200);
    expect((await pia.ask('DELETE', LINK)).status).toBe(204);
    expect([await statusOf(there), await statusOf(pia)]).toEqual([401, 200]);
    expect((await redeem(client, code)).body?.['code']).toBe('code_invalid');
    expect(await events('account_unlinked', await idOf(pia))).toMatchObject([
      { actor: { name: 'pia' }, details: { issuer: provider.issuer, subject: 'sub of pia' } },
    ]);
    expect((await pia.ask('DELETE', LINK)).body?.['code']).toBe('not_found');
    // Never by its name.
    expect((await atProvider('sub of pia', 'pia')).cookies.size).toBe(0);
  });

  it('keep it as their only way in; an administrator removes any', async () => {
    const quin = await atProvider('sub of quin', 'quin');
    const id = await idOf(quin);
    expect((await quin.ask('DELETE', LINK)).body?.['code']).toBe('last_way_in');
    const path = `/api/admin/users/${id}/link`;
    const expires_at = new Date(clock.now().getTime() + 3_600_000).toISOString();
    const wish = { name: 'a program', scopes: ['queries'], expires_at };
    const created = (await quin.ask('POST', '/api/auth/tokens', wish)).body;
    const program = client.as(String(created?.['token']));
    expect((await program.get('/api/auth/me')).status).toBe(200);
    expect((await boss.get(path)).body).toMatchObject({ subject: 'sub of quin' });
    expect((await boss.delete(path)).status).toBe(204);
    expect([(await boss.delete(path)).status, await statusOf(quin)]).toEqual([404, 401]);
    expect(await events('account_unlinked', id)).toMatchObject([{ actor: { name: 'admin' } }]);
    // A person who was made anew there has another subject, and the account again by its name.
    expect(await idOf(await atProvider('another sub of quin', 'quin'))).toBe(id);
    // Whose programs are not those of the former one.
    expect((await program.get('/api/auth/me')).status).toBe(401);
    const { body } = await boss.get(`/api/admin/audit?subject=token:${String(created?.['id'])}&limit=1`);
    expect(body?.['items']).toMatchObject([{ event: 'token_revoked', actor: { name: 'admin' } }]);
  });

  it('are signed in by nothing that was under way when it was unlinked, and keep no API token of then', async () => {
    const id = await idOf(await atProvider('sub of rob', 'rob'));
    const unlinking = async <T>(begin: () => Promise<T>): Promise<T> => {
      const outcome = await duringTransaction(service.database.url, async (other) => {
        await other.query('DELETE FROM oidc_people WHERE user_id = $1', [id]);
        return begin;
      });
      await atProvider('sub of rob', 'rob');
      return outcome;
    };
    const sessions = async () => rows('SELECT FROM sessions WHERE user_id = $1 AND ended_at IS NULL', [id]);
    const before = (await sessions()).length;

    const browser = new OidcBrowser(service);
    const answer = provider.signIn(await browser.go('/api/auth/oidc/console'), { sub: 'sub of rob' });
    const back = new URL(await unlinking(() => comeBack(browser, answer)));
    expect([back.searchParams.get('error'), browser.cookies.size]).toEqual(['session_ended', 0]);
    const web = new OidcBrowser(service);
    const shown = provider.signIn(await web.start(), { sub: 'sub of rob' });
    expect(await unlinking(() => web.finish(shown))).toMatchObject({ error: 'session_ended' });
    const token = await provider.token({ sub: 'sub of rob', preferred_username: 'rob' });
    expect(await unlinking(() => client.post('/api/auth/oidc/exchange', { token }))).toMatchObject({
      body: { code: 'token_invalid' },
    });
    expect(await sessions()).toHaveLength(before + 3);

    const unlinked = await duringTransaction(service.database.url, async (other) => {
      await other.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [id]);
      await other.query(
        `INSERT INTO api_tokens (id, user_id, name, scopes, digest, created_at, expires_at)
         VALUES ('underway', $1, 'a program', '{queries}', decode(repeat('00', 32), 'hex'), now(), now() + interval '1 day')`,
        [id],
      );
      return () => boss.delete(`/api/admin/users/${id}/link`);
    });
    expect(unlinked.status).toBe(204);
    expect(await rows('SELECT FROM api_tokens WHERE user_id = $1 AND revoked_at IS NULL', [id])).toEqual([]);
  });
});
