import { tokensOf } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';
import { SCIM_TOKEN, ScimClient, URN } from '../support/service/scim-client.js';

describe('people whom SCIM pushed, and who sign in', () => {
  const { service, provider, client, redeem } = sharedOidcService({
    AUTH_OIDC_EXTERNAL_ID_CLAIM: 'oid',
    SCIM_TOKEN,
  });
  const scim = new ScimClient(service);
  const pushed = (userName: string, externalId: string) =>
    scim.made('/Users', { schemas: [URN.user], userName, externalId });

  it('have the account of their external id, whatever they are called at the provider', async () => {
    await pushed('ada.lovelace', 'oid-of-ada');
    const browser = new OidcBrowser(service);
    const claims = { sub: 'ada', oid: 'oid-of-ada', preferred_username: 'ada.byron' };
    const { code } = await browser.signIn(provider, claims);
    const { access_token } = tokensOf(await redeem(browser, code));
    expect((await client.as(access_token).get('/api/auth/me')).body).toMatchObject({ username: 'ada.lovelace' });
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
});
