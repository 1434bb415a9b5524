import { type ErrorCode, type ErrorKind, ERRORS, type FieldError, type Refused } from '../kernel/errors.js';

/** The one table from kinds to statuses; a kind without a status does not compile. */
export const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'method-not-allowed': 405,
  conflict: 409,
  gone: 410,
  'too-large': 413,
  'unsupported-media-type': 415,
  'too-many': 429,
  busy: 503,
  unavailable: 503,
  internal: 500,
};

/** An error body (RFC 9457), `application/problem+json`. */
export interface Problem {
  type: 'about:blank';
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  errors?: FieldError[];
  request_id: string;
}

export function toProblem(refused: Refused, requestId: string): Problem {
  const { kind, title } = ERRORS[refused.code];
  return {
    ...refused.members,
    type: 'about:blank',
    title,
    status: STATUS[kind],
    detail: refused.detail ?? `${title}.`,
    code: refused.code,
    ...(refused.errors === undefined ? {} : { errors: refused.errors }),
    request_id: requestId,
  };
}

/**
 * The headers that belong to a refusal: every 401 carries a challenge (RFC 9110 section 15.5.2), with an error code only
 * where a token was sent (RFC 6750 section 3.1).
 */
export function problemHeaders(refused: Refused): Record<string, string> {
  const headers: Record<string, string> = {};
  if (ERRORS[refused.code].kind === 'unauthenticated') {
    const tokenWasSent = refused.code === 'token_invalid' || refused.code === 'token_expired';
    headers['WWW-Authenticate'] = `Bearer realm="grantline"${tokenWasSent ? ', error="invalid_token"' : ''}`;
  }
  const seconds = refused.retryAfter === undefined ? null : Math.max(1, Math.ceil(refused.retryAfter));
  if (seconds !== null) headers['Retry-After'] = String(seconds);
  if (refused.quota !== undefined) {
    // draft-ietf-httpapi-ratelimit-headers-10: structured fields, quota `q` in window `w`; `r` left for the next `t` seconds
    const { name, limit, windowSeconds } = refused.quota;
    headers['RateLimit-Policy'] = `"${name}";q=${limit};w=${windowSeconds}`;
    headers['RateLimit'] = `"${name}";r=0;t=${seconds ?? windowSeconds}`;
  }
  return headers;
}
