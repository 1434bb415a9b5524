import { ApiClient, tokensOf } from '../../support/service/api-client.js';
import { freePort } from '../../support/service/free-port.js';
import { OidcBrowser } from '../../support/service/oidc-browser.js';
import type { Postgres } from '../running/postgres.js';
import type { Stack } from '../stack.js';
import { KeycloakAdmin } from './keycloak-admin.js';
import { KeycloakPage } from './keycloak-page.js';

/** How a service is started at which people of the provider sign in, which knows its address from here on. @param more settings */
export async function forPeople({ issuer, realm: { people } }: Stack, more: Record<string, string> = {}) {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const url = new URL(people.name, issuer).href;
  const keycloak = new KeycloakAdmin(url, people);
  await keycloak.allowReturn(publicUrl);
  await keycloak.setBackchannel(`${publicUrl}/api/auth/oidc/backchannel-logout`);
  const settings = {
    NODE_ENV: 'test', // the provider has no TLS here
    AUTH_OIDC_ISSUER: url,
    AUTH_OIDC_CLIENT_ID: people.signIn.id,
    AUTH_OIDC_CLIENT_SECRET: people.signIn.secret,
    PUBLIC_URL: publicUrl,
    ...more,
  };
  const environment = (given: Record<string, string>, { migrationUrl }: Postgres) =>
    Promise.resolve({ ...given, ...settings, DATABASE_MIGRATION_URL: migrationUrl });
  return { port, keycloak, environment };
}

/** Signs a person of the provider in, by its own form. */
export async function signedInAt({ realm }: Stack, service: { url: string }, username: string): Promise<ApiClient> {
  const browser = new OidcBrowser(service);
  const answer = await new KeycloakPage(realm.people.password).signIn(await browser.start(), username);
  if (typeof answer === 'string') throw new Error(answer);
  const { code } = await browser.finish(answer);
  const visitor = new ApiClient(service.url);
  const asked = { code, code_verifier: browser.verifier };
  return visitor.as(tokensOf(await visitor.post('/api/auth/oidc/tokens', asked)).access_token);
}
