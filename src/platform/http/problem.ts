import { STATUS_CODES } from 'node:http';
import { type ErrorCode, type ErrorKind, ERRORS, type FieldError, Refused } from '../../kernel/errors.js';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log/log.js';
import type { AllowedMethods } from './allowed-methods.js';
import { isDatabaseOutage } from '../database/database-outage.js';
import type { RequestRecords } from './request-records.js';

/** HTTP statuses by kind of error. A kind without a status does not compile. */
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

/** The form of errors of the routes below a path, for a standard that defines its own. */
export interface ErrorForm {
  path: string;
  type: string;
  of: (problem: Problem) => object;
}

/** The most errors in one answer. */
const MAX_ERRORS = 20;

/** The most characters of a field's name or a message, which may contain input. */
const MAX_TEXT = 200;

/** Keeps the answer to a refused body below 8 KiB. */
const MAX_ERROR_BYTES = 7 * 1024;

function firstErrors(errors: readonly FieldError[]): FieldError[] {
  let left = MAX_ERROR_BYTES;
  const bytes = (error: FieldError): number => Buffer.byteLength(JSON.stringify(error)) + 1;
  return errors.slice(0, MAX_ERRORS).flatMap(({ witness, ...more }) => {
    const error = { ...more, field: cut(more.field), message: cut(more.message) };
    const whole = witness === undefined ? error : { ...error, witness };
    const fitting = bytes(whole) <= left ? whole : error;
    left -= bytes(fitting);
    return left >= 0 ? [fitting] : [];
  });
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

/** Bearer errors (RFC 6750 section 3.1) by code, for requests that sent a token. */
const BEARER_ERRORS: Partial<Record<ErrorCode, string>> = {
  token_invalid: 'invalid_token',
  token_expired: 'invalid_token',
  insufficient_scope: 'insufficient_scope',
  administrator_required: 'insufficient_scope',
  password_change_required: 'insufficient_scope',
};

/**
 * The headers of a refusal. Every 401 has a challenge (RFC 9110 section 15.5.2), and so has a 403 for a token without the route's scope
 * (RFC 6750 section 3).
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
    // Names the accepted types (RFC 9110 section 15.5.16).
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

/** Converts every thrown error, in Nest or before it, to a problem document. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly methods: AllowedMethods,
    private readonly records: RequestRecords,
    private readonly log: Log,
    private readonly forms: readonly ErrorForm[],
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** Answers an error. Also called for failures before routing, such as a path that cannot be decoded. */
  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refused = this.refused(error, request);
    const problem = toProblem(refused, request.id);
    this.records.noteRefusal(request, refused);
    // `busy` is expected and has a metric, and logging a stack for each would slow down other requests.
    if (problem.status >= 500 && problem.code !== 'busy') {
      this.log.error('request failed', { request_id: request.id, code: problem.code, err: refused.cause ?? refused });
    }
    if (reply.sent || reply.raw.headersSent) {
      reply.raw.destroy(); // breaks off a stream that failed midway, so that it does not look complete
      return;
    }
    if (refused.code === 'method_not_allowed' && !reply.hasHeader('Allow')) {
      void reply.header('Allow', (this.methods.methodsOf(request.url) ?? []).join(', '));
    }
    const form = this.forms.find(({ path }) => request.url.startsWith(path));
    void reply
      .status(problem.status)
      .headers(problemHeaders(refused))
      .type(form?.type ?? 'application/problem+json; charset=utf-8')
      .send(JSON.stringify(form?.of(problem) ?? problem));
  }

  private refused(error: unknown, request: FastifyRequest): Refused {
    if (error instanceof Refused) return error;
    if (isDatabaseOutage(error)) return new Refused('database_unavailable', { retryAfter: 5, cause: error });
    const status = statusOf(error);
    if (status === 404) return this.methods.refusalOf(request.url);
    if (status === 413) return new Refused('payload_too_large');
    if (status === 415) return new Refused('unsupported_media_type');
    if (status === 503) return new Refused('busy', { retryAfter: 1, cause: error });
    if (status >= 400 && status < 500) return new Refused('bad_request', { cause: error });
    return new Refused('internal_error', { cause: error });
  }
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  // Fastify's errors are no instances of a class that could be tested.
  const has = typeof error === 'object' && error !== null && 'statusCode' in error;
  return has && typeof error.statusCode === 'number' ? error.statusCode : 500;
}
