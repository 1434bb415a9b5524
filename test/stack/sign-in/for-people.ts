import { freePort } from '../../support/service/free-port.js';
import type { Postgres } from '../running/postgres.js';
import type { Stack } from '../stack.js';
import { KeycloakAdmin } from './keycloak-admin.js';

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
