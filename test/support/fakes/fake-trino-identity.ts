import type { IncomingHttpHeaders } from 'node:http';

/** `verified`: a token must be good, and a request must have come over https. */
export type TrinoMode = { kind: 'insecure' } | { kind: 'verified'; refusalOf: (token: string) => string | null };

export interface TrinoSession {
  user: string;
  originalUser: string;
  catalog: string | null;
  schema: string | null;
  headers: IncomingHttpHeaders;
}

interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const PRINCIPAL = 'service-account-grantline';
const TEXT = { 'Content-Type': 'text/plain' };

/** Why a POST gets no further than the authentication filter; null: it does. */
export function refusalOfIdentity(
  headers: IncomingHttpHeaders,
  mode: TrinoMode,
  alternate: string | null,
): Refusal | null {
  if (mode.kind === 'insecure') {
    if (headers['x-forwarded-proto'] !== undefined) {
      const body =
        'Error 406 Not Acceptable: Server configuration does not allow processing of the X-Forwarded-Proto header';
      return { status: 406, headers: TEXT, body };
    }
    const named = isMixed(headers, alternate) ? undefined : userHeader(headers, alternate);
    if (named !== undefined) return null;
    const body = 'Basic authentication or X-Trino-Original-User or X-Trino-User must be sent';
    return { status: 401, headers: { ...TEXT, 'WWW-Authenticate': 'Basic realm="Trino"' }, body };
  }
  if (headers['x-forwarded-proto'] !== 'https') {
    return { status: 403, headers: TEXT, body: 'Error 403 Forbidden: Authentication over HTTP is not enabled' };
  }
  const token = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  const reason = token === undefined ? 'Unauthorized' : mode.refusalOf(token);
  if (reason !== null) {
    return {
      status: 401,
      headers: { ...TEXT, 'WWW-Authenticate': 'Bearer realm="Trino", token_type="JWT"' },
      body: reason,
    };
  }
  if (!isMixed(headers, alternate)) return null;
  return { status: 400, headers: TEXT, body: 'Error 400 Bad Request: Both Trino and Query headers detected' };
}

/** The user that the engine sees, and its source. Headers of a family that is not configured are ignored in silence. */
export function sessionOf(headers: IncomingHttpHeaders, mode: TrinoMode, alternate: string | null): TrinoSession {
  const of = (name: string): string | null => header(headers, alternate, name) ?? null;
  const original = of('original-user') ?? of('user') ?? PRINCIPAL;
  return {
    user: of('user') ?? original,
    originalUser: mode.kind === 'verified' ? PRINCIPAL : original,
    catalog: of('catalog'),
    schema: of('schema'),
    headers,
  };
}

function userHeader(headers: IncomingHttpHeaders, alternate: string | null): string | undefined {
  return header(headers, alternate, 'original-user') ?? header(headers, alternate, 'user');
}

function header(headers: IncomingHttpHeaders, alternate: string | null, name: string): string | undefined {
  const family = speaksAlternate(headers, alternate) ? alternate : 'trino';
  const value = headers[`x-${(family ?? 'trino').toLowerCase()}-${name}`];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function speaksAlternate(headers: IncomingHttpHeaders, alternate: string | null): boolean {
  return alternate !== null && Object.keys(headers).some((name) => name.startsWith(`x-${alternate.toLowerCase()}`));
}

function isMixed(headers: IncomingHttpHeaders, alternate: string | null): boolean {
  return speaksAlternate(headers, alternate) && Object.keys(headers).some((name) => name.startsWith('x-trino-'));
}
