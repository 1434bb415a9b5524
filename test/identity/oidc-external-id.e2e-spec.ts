import { apiToken } from '../support/service/api-tokens.js';
import { type ApiClient, tokensOf } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';
import {
  accountBehind,
  eventsAbout,
  idOf,
  SCIM_TOKEN,
  ScimClient,
  scimGroup,
  statusOf,
  URN,
} from '../support/service/scim-client.js';

describe('people whom SCIM pushed, and who sign in', () => {
  const { service, provider, clock, boss, client, redeem } = sharedOidcService({
    AUTH_OIDC_EXTERNAL_ID_CLAIM: 'oid',
    AUTH_OIDC_ADMINISTRATORS_GROUP: 'Platform',
    SCIM_TOKEN,
  });
  const scim = new ScimClient(service);
  const pushed = (userName: string, externalId: string) =>
    scim.made('/Users', { schemas: [URN.user], userName, externalId });
  const signedIn = async (name: string): Promise<ApiClient> => {
    const browser = new OidcBrowser(service);
    const { code } = await browser.signIn(provider, { sub: name, oid: `oid-of-${name}`, preferred_username: name });
    return client.as(tokensOf(await redeem(browser, code)).access_token);
  };

  it('have the account of their external id, whatever they are called at the provider', async () => {
    await pushed('ada.lovelace', 'oid-of-ada');
    const browser = new OidcBrowser(service);
    const claims = { sub: 'ada', oid: 'oid-of-ada', preferred_username: 'ada.byron' };
    const { code } = await browser.signIn(provider, claims);
    const { access_token } = tokensOf(await redeem(browser, code));
    expect((await client.as(access_token).get('/api/auth/me')).body).toMatchObject({ username: 'ada.lovelace' });
  });

  it('have a trail of their external ids, which decide whose the account is', async () => {
    const path = await pushed('eli', 'oid-of-a-typo');
    const externalId = (value: string) => scim.patch(path, { op: 'replace', path: 'externalId', value });
    await externalId('oid-of-eli');
    await externalId('oid-of-eli');
    expect((await (await signedIn('eli')).get('/api/auth/me')).body).toMatchObject({ username: 'eli' });
    const events = (await eventsAbout(boss, path)).filter(({ event }) => event === 'external_id_changed');
    expect(events).toMatchObject([
      {
        ...{ actor: null, subject: { type: 'user', id: idOf(path), name: 'eli' } },
        details: { from: 'oid-of-a-typo', to: 'oid-of-eli' },
      },
    ]);
  });

  it('are not taken for somebody else who signed in by their name', async () => {
    await signedIn('vera');
    const taken = { schemas: [URN.user], userName: 'vera' };
    for (const more of [{ externalId: 'oid-of-another' }, {}]) {
      expect(await statusOf(scim.post('/Users', { ...taken, ...more }))).toEqual([409, 'uniqueness']);
    }
    const [user] = (await boss.get('/api/admin/users?q=vera')).body?.['items'] as object[];
    expect(user).toMatchObject({ username: 'vera', source: 'oidc' });
    expect(await statusOf(scim.post('/Users', { ...taken, externalId: 'vera' }))).toEqual([201, null]);
  });

  it.each<[string, object]>([
    ['another external id', { oid: 'oid-of-mallory' }],
    ['none', {}],
    ['the external id of somebody who has signed in', { oid: 'oid-of-ada' }],
  ])('are not found by their name, with %s', async (_, claims) => {
    const name = `bob.${Object.keys(claims).length}.${JSON.stringify(claims).length}`;
    await pushed(name, `oid-of-${name}`);
    const back = await new OidcBrowser(service).signIn(provider, {
      sub: `mallory ${name}`,
      preferred_username: name,
      ...claims,
    });
    expect(back['error']).toBe('name_taken');
  });

  it('keep their names while they are administrators by somebody here, and have not signed in', async () => {
    const path = await pushed('eve', 'oid-of-eve');
    expect((await boss.patch(`/api/admin/users/${idOf(path)}`, { role: 'admin' })).status).toBe(200);
    const change = (attribute: string, value: string) => scim.patch(path, { op: 'replace', path: attribute, value });
    for (const [attribute, value] of [
      ['externalId', 'oid-of-mallory'],
      ['userName', 'mallory'],
    ] as const) {
      expect((await change(attribute, value)).body).toMatchObject({ status: '400', scimType: 'mutability' });
    }
    expect((await change('displayName', 'Eve')).status).toBe(200);
    expect((await (await signedIn('mallory')).get('/api/admin/users')).status).toBe(403);
    expect((await (await signedIn('eve')).get('/api/admin/users')).status).toBe(200);
    expect((await change('userName', 'eve.adams')).status).toBe(200);
  });

  it('are administrators while SCIM has them in the group of administrators', async () => {
    const cal = await pushed('cal', 'oid-of-cal');
    const person = await signedIn('cal');
    const status = async () => (await person.get('/api/admin/users')).status;
    const group = await scim.made('/Groups', scimGroup('Platform', { members: [{ value: idOf(cal) }] }));
    expect(await status()).toBe(200);
    const { token } = await apiToken(person, clock.now(), 'admin.read');
    await scim.patch(group, { op: 'replace', path: 'displayName', value: 'Former' });
    expect([await status(), (await client.as(token).get('/api/admin/users')).status]).toEqual([403, 403]);
    await scim.patch(group, { op: 'replace', path: 'displayName', value: 'platform' });
    expect(await status()).toBe(200);
    await scim.patch(group, { op: 'remove', path: `members[value eq "${idOf(cal)}"]` });
    expect(await status()).toBe(403);
    await scim.patch(group, { op: 'add', path: 'members', value: [{ value: idOf(cal) }] });
    expect(await status()).toBe(200);
    await scim.delete(cal);
    expect(await accountBehind(boss, cal)).toMatchObject({ role: 'user', is_active: false });
    const roles = (await eventsAbout(boss, cal)).filter(({ event }) => event === 'role_changed');
    expect(roles.map(({ details }) => (details as { to: string }).to)).toEqual([
      ...['admin', 'user', 'admin', 'user', 'admin', 'user'],
    ]);
  });

  it('have the new account once SCIM deleted them and pushed them again, and none in between', async () => {
    const signIn = (name: string) =>
      new OidcBrowser(service).signIn(provider, { sub: 'fay', oid: 'oid-of-fay', preferred_username: name });
    const first = await pushed('fay', 'oid-of-fay');
    await signedIn('fay');
    await scim.delete(first);
    expect((await signIn('fay'))['error']).toBe('account_deactivated');
    // A link is of the external id, not of a name.
    await pushed('gil', 'oid-of-gil');
    expect((await signIn('gil'))['error']).toBe('account_deactivated');
    const second = await pushed('fay', 'oid-of-fay');
    expect((await (await signedIn('fay')).get('/api/auth/me')).body).toMatchObject({ id: Number(idOf(second)) });
    const unlinked = (await eventsAbout(boss, first)).filter(({ event }) => event === 'account_unlinked');
    expect(unlinked).toMatchObject([{ details: { subject: 'fay' } }]);
  });

  it('stay out when an administrator deactivated them before SCIM deleted them', async () => {
    const first = await pushed('hal', 'oid-of-hal');
    await signedIn('hal');
    await boss.patch(`/api/admin/users/${idOf(first)}`, { is_active: false });
    await scim.delete(first);
    await pushed('hal', 'oid-of-hal');
    const claims = { sub: 'hal', oid: 'oid-of-hal', preferred_username: 'hal' };
    expect((await new OidcBrowser(service).signIn(provider, claims))['error']).toBe('account_deactivated');
  });

  it('keep their API tokens however long ago they signed in: SCIM tells who leaves', async () => {
    await pushed('dot', 'oid-of-dot');
    const expires_at = new Date(clock.now().getTime() + 300 * 86_400_000).toISOString();
    const asked = { name: 'a program', scopes: ['queries'], expires_at };
    const { body } = await (await signedIn('dot')).post('/api/auth/tokens', asked);
    clock.advance(40 * 86_400);
    expect((await client.as(String(body?.['token'])).get('/api/auth/me')).status).toBe(200);
  });
});
