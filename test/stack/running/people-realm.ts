import { randomUUID } from 'node:crypto';
import type { ServiceClient } from './realm.js';

/** The realm of the people who sign in, with secrets that live as long as one run. */
export interface PeopleRealm {
  name: string;
  /** Where people sign in for the service. */
  signIn: ServiceClient;
  /** Where people work at the provider already; its tokens are for the service, too, and `other`'s are not. */
  notebook: ServiceClient;
  other: ServiceClient;
  /** What changes the realm. */
  administrator: ServiceClient;
  users: readonly string[];
  /** Everybody's. */
  password: string;
}

/** Where the service is, as the provider knows it. */
export const PUBLIC_URL = 'http://127.0.0.1:3000';

export function newPeopleRealm(): PeopleRealm {
  const client = (id: string): ServiceClient => ({ id, secret: randomUUID() });
  return {
    name: 'people',
    signIn: client('grantline'),
    notebook: client('notebook'),
    other: client('other'),
    administrator: client('operator'),
    users: ['erin', 'frank', 'grace'],
    password: randomUUID(),
  };
}

/** The realm in the provider's own import format, with the client that docs/identity.md describes. */
export function peopleImport({
  name,
  signIn,
  notebook,
  other,
  administrator,
  users: people,
  password,
}: PeopleRealm): object {
  const client = ({ id, secret }: ServiceClient): object => ({ clientId: id, secret, publicClient: false });
  return {
    realm: name,
    enabled: true,
    sslRequired: 'none',
    groups: [{ name: 'analysts' }, { name: 'engineers' }],
    clients: [
      {
        ...client(signIn),
        standardFlowEnabled: true,
        directAccessGrantsEnabled: false,
        redirectUris: [`${PUBLIC_URL}/api/auth/oidc/callback`],
        webOrigins: [],
        protocolMappers: [
          {
            name: 'groups',
            protocol: 'openid-connect',
            protocolMapper: 'oidc-group-membership-mapper',
            config: { 'claim.name': 'groups', 'full.path': 'true', 'id.token.claim': 'true' },
          },
        ],
      },
      {
        ...client(notebook),
        directAccessGrantsEnabled: true,
        serviceAccountsEnabled: true,
        protocolMappers: [
          {
            name: 'audience',
            protocol: 'openid-connect',
            protocolMapper: 'oidc-audience-mapper',
            config: {
              'included.client.audience': signIn.id,
              'id.token.claim': 'true',
              'access.token.claim': 'true',
            },
          },
        ],
      },
      { ...client(other), directAccessGrantsEnabled: true },
      { ...client(administrator), standardFlowEnabled: false, serviceAccountsEnabled: true },
    ],
    users: [
      ...people.map((username) => ({
        username,
        enabled: true,
        ...{ email: `${username}@example.org`, emailVerified: true, firstName: username, lastName: 'Test' },
        credentials: [{ type: 'password', value: password, temporary: false }],
      })),
      {
        username: `service-account-${administrator.id}`,
        enabled: true,
        serviceAccountClientId: administrator.id,
        clientRoles: { 'realm-management': ['realm-admin'] },
      },
    ],
  };
}
