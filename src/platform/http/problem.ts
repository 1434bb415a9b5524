import { STATUS_CODES } from 'node:http';
import { type ErrorCode, type ErrorKind, ERRORS, type FieldError, type Refused } from '../../kernel/errors.js';

/** The one table from kinds to statuses; a kind without a status does not compile. */
export const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'method-not-allowed': 405,
  conflict: 409,
  gone: 410,
  'precondition-failed': 412,
  'too-large': 413,
  'unsupported-media-type': 415,
  'too-many': 429,
  busy: 503,
  unavailable: 503,
  internal: 500,
  'not-implemented': 501,
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

export function toProblem({ code, details }: Refused, requestId: string): Problem {
  const { kind, text } = ERRORS[code];
  const { members, detail, errors } = details;
  const status = STATUS[kind];
  return {
    ...members,
    type: 'about:blank',
    // With about:blank the title is the status's own phrase (RFC 9457 section 4.2.1).
    title: STATUS_CODES[status] ?? '',
    status,
    detail: detail ?? `${text}.`,
    code,
    ...(errors === undefined ? {} : { errors: firstErrors(errors) }),
    request_id: requestId,
  };
}

/** The errors of the routes below a path, where a standard has a form of its own. */
export interface ErrorForm {
  path: string;
  type: string;
  of: (problem: Problem) => object;
}

/** Most errors of one answer. */
const MAX_ERRORS = 20;

/** Most characters of a field's name or a message, which may hold input. */
const MAX_TEXT = 200;

/** Keeps the answer to a refused body below 8 KiB. */
const MAX_ERROR_BYTES = 7 * 1024;

function firstErrors(errors: readonly FieldError[]): FieldError[] {
  let left = MAX_ERROR_BYTES;
  const first = errors.slice(0, MAX_ERRORS).map(({ field, message }) => ({ field: cut(field), message: cut(message) }));
  return first.filter((error) => (left -= Buffer.byteLength(JSON.stringify(error)) + 1) >= 0);
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

/** Bearer errors (RFC 6750 section 3.1), for requests that sent a token. */
const BEARER_ERRORS: Partial<Record<ErrorCode, string>> = {
  token_invalid: 'invalid_token',
  token_expired: 'invalid_token',
  insufficient_scope: 'insufficient_scope',
  administrator_required: 'insufficient_scope',
  password_change_required: 'insufficient_scope',
};

/**
 * The headers that belong to a refusal: every 401 carries a challenge (RFC 9110 section 15.5.2), and so does a 403 of a token that
 * does not open a route (RFC 6750 section 3).
 */
export function problemHeaders({ code, details: { retryAfter, quota, mediaTypes } }: Refused): Record<string, string> {
  const headers: Record<string, string> = {};
  const { kind } = ERRORS[code];
  const bearerError = BEARER_ERRORS[code];
  if (kind === 'unauthenticated' || bearerError !== undefined) {
    headers['WWW-Authenticate'] =
      `Bearer realm="grantline"${bearerError === undefined ? '' : `, error="${bearerError}"`}`;
  }
  if (kind === 'unsupported-media-type') {
    // The types that are accepted (RFC 9110 section 15.5.16).
    headers['Accept'] = mediaTypes?.join(', ') ?? 'application/json';
    headers['Accept-Encoding'] = 'identity';
  }
  const seconds = retryAfter === undefined ? null : Math.max(1, Math.ceil(retryAfter));
  if (seconds !== null) headers['Retry-After'] = String(seconds);
  if (quota !== undefined) {
    // draft-ietf-httpapi-ratelimit-headers-10: structured fields, quota `q` in window `w` or of unit `qu`; `r` left for the next
    // `t` seconds
    const window = 'windowSeconds' in quota ? quota.windowSeconds : null;
    const unit = window === null ? 'qu="concurrent-requests"' : `w=${window}`;
    const reset = seconds ?? window;
    headers['RateLimit-Policy'] = `"${quota.name}";q=${quota.limit};${unit}`;
    headers['RateLimit'] = `"${quota.name}";r=0${reset === null ? '' : `;t=${reset}`}`;
  }
  return headers;
}
