import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { administrator } from '../support/service/administrator.js';
import { type Answer, ApiClient, passwordOf, signIn, tokensOf } from '../support/service/api-client.js';
import { apiToken } from '../support/service/api-tokens.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { startService, type TestService } from '../support/service/service.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';
import { PUBLIC_URL } from './running/people-realm.js';
import { until } from '../support/service/until.js';
import { AdvancedClock } from './sign-in/advanced-clock.js';
import { KeycloakAdmin } from './sign-in/keycloak-admin.js';
import { KeycloakPage } from './sign-in/keycloak-page.js';
import { serviceToken } from './running/identity-provider.js';
import { forgeries, shownTokens } from './sign-in/shown-tokens.js';
import { openStack } from './stack.js';

const { issuer, realm } = openStack(process.env);
const { people } = realm;

describe('people who sign in at Keycloak', () => {
  const clock = new AdvancedClock();
  let provider: TcpProxy;
  let keycloak: KeycloakAdmin;
  let service: TestService;
  let client: ApiClient;
  let boss: ApiClient;
  let rules: string;

  beforeAll(async () => {
    provider = await TcpProxy.to(new URL(people.name, issuer).href);
    keycloak = new KeycloakAdmin(provider.url, people);
    rules = await mkdtemp(join(tmpdir(), 'published-rules-'));
    const environment = {
      ACL_FILE_DIRECTORY: rules,
      AUTH_OIDC_GROUPS_CLAIM: 'groups',
      AUTH_OIDC_ISSUER: provider.url,
      AUTH_OIDC_CLIENT_ID: people.signIn.id,
      AUTH_OIDC_CLIENT_SECRET: people.signIn.secret,
      AUTH_OIDC_RETURN_ORIGINS: 'https://app.example.org',
      PUBLIC_URL,
    };
    service = await startService(environment, { clock });
    client = new ApiClient(service);
    boss = await administrator(service);
    await keycloak.setBackchannel(`${service.url}/api/auth/oidc/backchannel-logout`);
  });
  afterAll(async () => {
    await service.stop();
    await provider.down();
    await rm(rules, { recursive: true, force: true });
  });

  /** From the web client to the provider, as far as the provider lets somebody go. */
  const atProvider = async (username: string, browser: OidcBrowser, page = new KeycloakPage(people.password)) =>
    page.signIn(await browser.start(), username);
  /** And back to the web client. */
  const back = async (username: string, browser: OidcBrowser) => {
    const answer = await atProvider(username, browser);
    if (typeof answer === 'string') throw new Error(answer);
    return browser.finish(answer);
  };
  const redeem = (code: string | undefined, verifier: string): Promise<Answer> =>
    client.post('/api/auth/oidc/tokens', { code, code_verifier: verifier });
  const signedIn = async (username: string) => {
    const browser = new OidcBrowser(service);
    const { code } = await back(username, browser);
    return tokensOf(await redeem(code, browser.verifier));
  };
  const me = async (token: string) => client.as(token).get('/api/auth/me');

  it('get an account of their own, the same each time', async () => {
    const { access_token, refresh_token } = await signedIn('erin');
    const { body } = await me(access_token);
    expect(body).toMatchObject({ username: 'erin', email: 'erin@example.org', role: 'user', is_active: true });
    expect((await client.post('/api/auth/refresh', { refresh_token })).status).toBe(200);
    expect((await me((await signedIn('erin')).access_token)).body?.['id']).toBe(body?.['id']);
    expect((await boss.get('/api/admin/users?source=oidc')).body?.['items']).toHaveLength(1);
  });

  it('are asked for no password in a browser that is signed in already', async () => {
    const page = new KeycloakPage(people.password);
    for (const browser of [new OidcBrowser(service), new OidcBrowser(service)]) {
      const answer = (await atProvider('erin', browser, page)) as URLSearchParams;
      expect(Object.keys(await browser.finish(answer))).toEqual(['code']);
    }
  });

  it('get tokens for a code once, in the client that began, within a minute', async () => {
    const refusal = { status: 401, body: { code: 'code_invalid' } };
    const browser = new OidcBrowser(service);
    const { code } = await back('erin', browser);
    expect((await redeem(code, browser.verifier)).status).toBe(200);
    expect(await redeem(code, browser.verifier)).toMatchObject(refusal);
    expect(await redeem((await back('erin', browser))['code'], 'x'.repeat(43))).toMatchObject(refusal);
    const late = await back('erin', browser);
    clock.advance(61);
    expect(await redeem(late['code'], browser.verifier)).toMatchObject(refusal);
    clock.advance(-61);
  });

  it('cannot use an answer twice, late, or in another browser', async () => {
    const browser = new OidcBrowser(service);
    const answer = (await atProvider('erin', browser)) as URLSearchParams;
    const cookies = [...browser.cookies];
    expect((await new OidcBrowser(service).finish(answer))['error']).toBe('other_browser');
    expect(Object.keys(await browser.finish(answer))).toEqual(['code']);
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    expect((await browser.finish(answer))['error']).toBe('sign_in_replayed');

    const late = (await atProvider('erin', browser)) as URLSearchParams;
    clock.advance(601);
    expect((await browser.finish(late))['error']).toBe('sign_in_expired');
    clock.advance(-601);
  });

  it('cannot bring a code of another sign-in: the provider refuses it', async () => {
    const [browser, other] = [new OidcBrowser(service), new OidcBrowser(service)];
    const answer = (await atProvider('erin', browser)) as URLSearchParams;
    const stolen = (await atProvider('frank', other)) as URLSearchParams;
    answer.set('code', stolen.get('code') ?? '');
    expect((await browser.finish(answer))['error']).toBe('provider_refused');
  });

  it('who are disabled there are not sent back', async () => {
    await keycloak.setEnabled('frank', false);
    expect(await atProvider('frank', new OidcBrowser(service))).toMatch(/Account is disabled/);
    await keycloak.setEnabled('frank', true);
    expect((await me((await signedIn('frank')).access_token)).body).toMatchObject({ username: 'frank' });
  });

  it('lose every session at once when the provider ends theirs', async () => {
    const [one, other] = [await signedIn('frank'), await signedIn('frank')];
    const erin = await signedIn('erin');
    // It calls nobody when it disables somebody: their sessions there go on, until somebody ends them.
    await keycloak.setEnabled('frank', false);
    expect((await me(one.access_token)).status).toBe(200);
    await keycloak.signOut('frank');
    for (const { access_token, refresh_token } of [one, other]) {
      expect((await me(access_token)).status).toBe(401);
      expect((await client.post('/api/auth/refresh', { refresh_token })).status).toBe(401);
    }
    expect((await me(erin.access_token)).status).toBe(200);
    await keycloak.setEnabled('frank', true);
  });

  it('lose a session in use, and groups, as soon as the provider is asked again', async () => {
    await keycloak.join('frank', 'engineers');
    const { access_token } = await signedIn('frank');
    const { id } = (await me(access_token)).body as { id: number };
    const groups = async () => (await boss.get(`/api/admin/groups?member=${id}`)).body?.['items'] as unknown[];
    expect(await groups()).toHaveLength(1);
    await keycloak.leave('frank', 'engineers');
    clock.advance(301);
    expect((await me(access_token)).status).toBe(200);
    await until(async () => (await groups()).length === 0);
    await keycloak.setEnabled('frank', false);
    clock.advance(301);
    expect((await me(access_token)).status).toBe(200);
    await until(async () => (await me(access_token)).status === 401);
    const { body } = await boss.get('/api/admin/audit?event=session_ended&limit=1');
    expect(body?.['items']).toMatchObject([{ details: { by: 'recheck' } }]);
    clock.advance(-602);
    await keycloak.setEnabled('frank', true);
  });

  it('have the access of their groups there with the next sign-in, and lose it so', async () => {
    const published = async () => {
      await boss.post('/api/admin/acl/sync', {});
      return readFile(join(rules, 'rules.json'), 'utf8');
    };
    await keycloak.join('grace', 'analysts');
    await signedIn('grace');
    const groups = (await boss.get('/api/admin/groups?q=analysts')).body?.['items'] as { id: number; source: string }[];
    expect(groups).toMatchObject([{ name: 'analysts', source: 'oidc', member_count: 1 }]);
    const principal = { type: 'group', id: groups[0]?.id };
    const grant = { principal, resource: { catalog: 'tpch' }, privileges: ['SELECT'] };
    expect((await boss.post('/api/admin/grants', grant)).status).toBe(201);
    expect(await published()).toContain('"user":"grace"');
    await keycloak.leave('grace', 'analysts');
    await keycloak.join('grace', 'engineers');
    await signedIn('grace');
    expect(await published()).not.toContain('"user":"grace"');
  });

  it('sign out there when they sign out here, and somebody else can sign in', async () => {
    const page = new KeycloakPage(people.password);
    const comes = async (username: string) => {
      const browser = new OidcBrowser(service);
      const { code } = await browser.finish((await atProvider(username, browser, page)) as URLSearchParams);
      return tokensOf(await redeem(code, browser.verifier)).access_token;
    };
    const erin = await comes('erin');
    expect((await me(await comes('grace'))).body).toMatchObject({ username: 'erin' });
    const { status, body } = await client.as(erin).post('/api/auth/logout');
    expect(status).toBe(200);
    await page.visit(String(body?.['sign_out_url']));
    expect((await me(await comes('grace'))).body).toMatchObject({ username: 'grace' });
  });

  describe('at another client, whose tokens they show', () => {
    const tokensAt = (at: typeof people.notebook, username = 'erin') =>
      shownTokens(provider.url, at, { username, password: people.password });
    const exchange = async (token: string): Promise<unknown[]> => {
      const { status, body } = await client.post('/api/auth/oidc/exchange', { token });
      if (status !== 200) return [status, body?.['code']];
      return [status, (await me(String(body?.['access_token']))).body?.['username']];
    };

    it('are who they are here, by an ID token and by an access token, each once', async () => {
      const { id_token, access_token } = await tokensAt(people.notebook);
      for (const token of [id_token, access_token]) {
        expect(await exchange(token)).toEqual([200, 'erin']);
        expect(await exchange(token)).toEqual([401, 'token_used']);
      }
    });

    it('are refused with a token for others, of a program, forged, or too old', async () => {
      const { id_token, access_token } = await tokensAt(people.other);
      expect(await exchange(id_token)).toEqual([401, 'token_wrong_audience']);
      expect(await exchange(access_token)).toEqual([401, 'token_wrong_audience']);
      expect(await exchange(await serviceToken(provider.url, people.notebook))).toEqual([403, 'token_of_program']);
      const { access_token: good } = await tokensAt(people.notebook);
      for (const [how, token] of Object.entries(await forgeries(provider.url, good))) {
        expect([how, await exchange(token)]).toEqual([how, [401, 'token_invalid']]);
      }
      clock.advance(700);
      expect(await exchange(good)).toEqual([401, 'token_expired']);
      clock.advance(-700);
      expect(await exchange(good)).toEqual([200, 'erin']);
    });
  });

  it('sign in while the provider changes its key', async () => {
    await signedIn('erin');
    await keycloak.rotateKeys();
    expect((await me((await signedIn('erin')).access_token)).status).toBe(200);
  });

  it('wait for the provider while it is down; passwords, sessions and tokens do not', async () => {
    const { access_token, refresh_token } = await signedIn('erin');
    const { token } = await apiToken(client.as(access_token), clock.now(), 'queries');
    const browser = new OidcBrowser(service);
    const answer = (await atProvider('erin', browser)) as URLSearchParams;
    await provider.down();
    expect((await browser.finish(answer))['error']).toBe('provider_unavailable');
    expect(await service.ready()).toMatchObject({ status: 200, body: { parts: { sign_in_provider: 'degraded' } } });
    for (const each of [access_token, token]) expect((await me(each)).status).toBe(200);
    expect((await client.post('/api/auth/refresh', { refresh_token })).status).toBe(200);
    expect((await signIn(client, 'admin', passwordOf('admin'))).access_token).toMatch(/./);
    await provider.up();
    expect((await me((await signedIn('erin')).access_token)).status).toBe(200);
    expect(await service.ready()).toMatchObject({ body: { parts: { sign_in_provider: 'up' } } });
  });
});
