import { randomUUID } from 'node:crypto';

/** The audience that the engine asks for in the verified mode. */
export const ENGINE_AUDIENCE = 'trino';

export interface ServiceClient {
  id: string;
  secret: string;
}

/** What the identity provider knows: three confidential clients, with secrets that live as long as one run. */
export interface Realm {
  name: string;
  /** The service's own client. Its tokens carry the engine's audience. */
  grantline: ServiceClient;
  /** The same, but its tokens live one second. */
  shortLived: ServiceClient;
  /** Another tool of the same realm; its tokens are not meant for the engine. */
  otherTool: ServiceClient;
}

export function newRealm(): Realm {
  const client = (id: string): ServiceClient => ({ id, secret: randomUUID() });
  return {
    name: 'data',
    grantline: client('grantline'),
    shortLived: client('grantline-short-lived'),
    otherTool: client('other-tool'),
  };
}

/** The realm in the provider's own import format. */
export function realmImport(realm: Realm): object {
  return {
    realm: realm.name,
    enabled: true,
    sslRequired: 'none',
    accessTokenLifespan: 300,
    clients: [
      { ...confidential(realm.grantline), protocolMappers: [audienceMapper] },
      {
        ...confidential(realm.shortLived),
        protocolMappers: [audienceMapper],
        attributes: { 'access.token.lifespan': '1' },
      },
      confidential(realm.otherTool),
    ],
  };
}

/** As section 5.2 of the service's description asks: confidential, a service account, and no other way in. */
function confidential({ id, secret }: ServiceClient): object {
  return {
    clientId: id,
    secret,
    publicClient: false,
    serviceAccountsEnabled: true,
    standardFlowEnabled: false,
    implicitFlowEnabled: false,
    directAccessGrantsEnabled: false,
  };
}

const audienceMapper = {
  name: 'engine-audience',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: {
    'included.custom.audience': ENGINE_AUDIENCE,
    'access.token.claim': 'true',
    'id.token.claim': 'false',
  },
};
