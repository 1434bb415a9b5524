import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import type { ServiceClient } from '../running/realm.js';

/** Tokens of somebody who is signed in at a client of the provider's. */
export async function shownTokens(
  issuer: string,
  { id, secret }: ServiceClient,
  { username, password }: { username: string; password: string },
): Promise<{ id_token: string; access_token: string }> {
  const answer = await fetch(`${issuer}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'password', scope: 'openid', client_id: id, client_secret: secret },
      ...{ username, password },
    }),
  });
  if (!answer.ok) throw new Error(`no token of ${id} for ${username}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as { id_token: string; access_token: string };
}

/** What a token says, signed as the provider would not have signed it. */
export async function forgeries(issuer: string, token: string): Promise<Record<string, string>> {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const { kid } = parsed(header) as { kid: string };
  const claims = parsed(payload) as JWTPayload;
  const { keys } = (await (await fetch(`${issuer}/protocol/openid-connect/certs`)).json()) as {
    keys: (JsonWebKey & { kid: string })[];
  };
  const jwk = keys.find((key) => key.kid === kid);
  if (jwk === undefined) throw new Error('the provider does not publish its key');
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  const changed = Buffer.from(JSON.stringify({ ...claims, preferred_username: 'grace' })).toString('base64url');
  const unknown = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'unknown' })).toString('base64url');
  return {
    'alg none': new UnsecuredJWT(claims).encode(),
    'HS256 with the public key': await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid })
      .sign(Buffer.from(publicKey)),
    'unknown kid': `${unknown}.${payload}.${signature}`,
    'another name': `${header}.${changed}.${signature}`,
  };
}

function parsed(part: string): unknown {
  return JSON.parse(Buffer.from(part, 'base64url').toString());
}
