import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newPeopleRealm, type PeopleRealm } from './people-realm.js';

export interface ServiceClient {
  id: string;
  secret: string;
}

/** What the identity provider knows: four confidential clients, with secrets that live as long as one run. */
export interface Realm {
  name: string;
  /** The service's own client. Its tokens carry the engine's audience. */
  grantline: ServiceClient;
  /** The same, but its tokens live one second. */
  shortLived: ServiceClient;
  /** The same, but its tokens live twenty seconds: that the provider is away shows soon, and not between two renewals. */
  twentySeconds: ServiceClient;
  /** Another tool of the same realm; its tokens have another audience than the engine. */
  otherTool: ServiceClient;
  /** A realm beside it, of the people who sign in. */
  people: PeopleRealm;
}

export function newRealm(): Realm {
  const client = (id: string): ServiceClient => ({ id, secret: randomUUID() });
  return {
    name: 'data',
    grantline: client('grantline'),
    shortLived: client('grantline-short-lived'),
    twentySeconds: client('grantline-twenty-seconds'),
    otherTool: client('other-tool'),
    people: newPeopleRealm(),
  };
}

interface ClientImport {
  clientId: string;
  protocolMappers: [{ config: { 'included.custom.audience': string } }];
}

/** The client that the provider of an installation is given. */
const { clients } = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', '..', '..', 'helm', 'engine', 'keycloak-client.json'), 'utf8'),
) as { clients: [ClientImport] };

/** The audience that its tokens carry; the engine asks for it in the verified mode. */
export const ENGINE_AUDIENCE = clients[0].protocolMappers[0].config['included.custom.audience'];

/** The realm in the provider's own import format. */
export function realmImport(realm: Realm): object {
  const [client] = clients;
  const called = ({ id, secret }: ServiceClient): object => ({ ...client, clientId: id, secret });
  const living = (seconds: number) => ({ attributes: { 'access.token.lifespan': String(seconds) } });
  return {
    realm: realm.name,
    enabled: true,
    sslRequired: 'none',
    accessTokenLifespan: 300,
    clients: [
      called(realm.grantline),
      { ...called(realm.shortLived), ...living(1) },
      { ...called(realm.twentySeconds), ...living(20) },
      // As the provider's own console makes clients.
      { ...called(realm.otherTool), protocolMappers: [], fullScopeAllowed: true },
    ],
  };
}
