import { isObject, jsonOrNull } from '../../kernel/json-reader.js';
import type { LogMarker } from '../../kernel/log-marker.js';

/** The unverified claims of a service-account token, used only to check the settings at the start and to log problems. */
export interface TokenClaims {
  algorithm: string | null;
  issuer: string | null;
  client: string | null;
  principal: string | null;
  audience: readonly string[];
  /** Origins from which browsers may use the token (Keycloak: the client's web origins). */
  origins: readonly string[];
}

/** Names of the claim with the client's id: in OpenID Connect, in RFC 9068, at Okta, and in version 1 of Entra's tokens. */
const CLIENT_CLAIMS = ['azp', 'client_id', 'cid', 'appid'] as const;

/** The claims of a token; null: the token is no JSON Web Token. */
export function readClaims(token: string): TokenClaims | null {
  const parts = token.split('.').slice(0, 2);
  const [header, claims] = parts.map((part) => jsonOrNull(Buffer.from(part, 'base64url').toString('utf8')));
  if (!isObject(header) || !isObject(claims)) return null;
  return {
    algorithm: textIn(header, 'alg'),
    issuer: textIn(claims, 'iss'),
    client: CLIENT_CLAIMS.map((name) => textIn(claims, name)).find((client) => client !== null) ?? null,
    principal: textIn(claims, 'preferred_username'),
    audience: textsIn(claims, 'aud'),
    origins: textsIn(claims, 'allowed-origins'),
  };
}

function textIn(object: Record<string, unknown>, name: string): string | null {
  const value = object[name];
  return typeof value === 'string' ? value : null;
}

function textsIn(object: Record<string, unknown>, name: string): string[] {
  return [object[name]].flat().filter((item) => typeof item === 'string');
}

/** The claims that the settings imply. */
export interface ExpectedClaims {
  issuer: string;
  client: string;
  principal: string;
  audience: string | null;
}

export interface TokenProblem {
  message: LogMarker;
  expected: string | null;
  seen: string | readonly string[];
  reason?: string;
}

/**
 * Problems of the OAuth client or the settings that a token reveals. A missing claim is usually no problem, because
 * providers differ.
 */
export function tokenProblems(claims: TokenClaims, expected: ExpectedClaims): TokenProblem[] {
  const problems: TokenProblem[] = [];
  const compareClaim = (message: LogMarker, expectedValue: string, seen: string | null): void => {
    if (seen !== null && seen !== expectedValue) problems.push({ message, expected: expectedValue, seen });
  };
  compareClaim('service-account token is not signed with RS256', 'RS256', claims.algorithm);
  compareClaim('service-account token has another issuer', expected.issuer, claims.issuer?.replace(/\/$/, '') ?? null);
  compareClaim('service-account token is of another client', expected.client, claims.client);
  const { principal, audience } = expected;
  if (claims.principal !== null && claims.principal !== principal) {
    const reason = 'preferred_username of the service-account token is not SERVICE_QUERY_USER';
    problems.push({ message: 'ENGINE_IDENTITY_MISMATCH', expected: principal, seen: claims.principal, reason });
  }
  if (audience !== null && !claims.audience.includes(audience)) {
    problems.push({ message: 'service-account token lacks the audience', expected: audience, seen: claims.audience });
  }
  if (claims.origins.length > 0) {
    const message: LogMarker = 'service-account client has web origins, which it does not need';
    problems.push({ message, expected: null, seen: claims.origins });
  }
  return problems;
}
