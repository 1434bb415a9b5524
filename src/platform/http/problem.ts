import { STATUS_CODES } from 'node:http';
import { type ErrorCode, ERRORS, type FieldError, Refused } from '../../kernel/errors.js';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log/log.js';
import type { AllowedMethods } from './allowed-methods.js';
import { isDatabaseOutage } from '../database/database-outage.js';
import type { RequestRecords } from './request-records.js';

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
  const { status, text } = ERRORS[code];
  const { members, detail, errors } = details;
  return {
    ...members,
    type: 'about:blank',
    // With the type about:blank the title must be the standard phrase of the status (RFC 9457 section 4.2.1).
    title: STATUS_CODES[status] ?? '',
    status,
    detail: detail ?? `${text}.`,
    code,
    ...(errors === undefined ? {} : { errors: firstErrors(errors) }),
    request_id: requestId,
  };
}

/** The form of error answers for all routes below a path. Used for a standard that defines its own error bodies (SCIM). */
export interface ErrorForm {
  path: string;
  type: string;
  toBody: (problem: Problem) => object;
}

const MAX_ERRORS = 20;

/** The most characters of a field's name or a message in an error. Limited, because both may contain input. */
const MAX_CHARS = 200;

/** The most bytes of field errors in an answer, so that the answer to a refused body stays below 8 KiB. */
const MAX_ERROR_BYTES = 7 * 1024;

function firstErrors(errors: readonly FieldError[]): FieldError[] {
  let remainingBytes = MAX_ERROR_BYTES;
  const bytesOf = (error: FieldError): number => Buffer.byteLength(JSON.stringify(error)) + 1;
  return errors.slice(0, MAX_ERRORS).flatMap(({ witness, ...otherFields }) => {
    const error = { ...otherFields, field: truncate(otherFields.field), message: truncate(otherFields.message) };
    const fullError = witness === undefined ? error : { ...error, witness };
    const fittingError = bytesOf(fullError) <= remainingBytes ? fullError : error;
    remainingBytes -= bytesOf(fittingError);
    return remainingBytes >= 0 ? [fittingError] : [];
  });
}

function truncate(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

/** The `error` of the WWW-Authenticate header (RFC 6750 section 3.1) by error code, for requests that sent a token. */
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
  const { status } = ERRORS[code];
  const bearerError = BEARER_ERRORS[code];
  if (status === 401 || bearerError !== undefined) {
    headers['WWW-Authenticate'] =
      `Bearer realm="grantline"${bearerError === undefined ? '' : `, error="${bearerError}"`}`;
  }
  if (status === 415) {
    // These headers name the accepted types and encodings (RFC 9110 section 15.5.16).
    headers['Accept'] = mediaTypes?.join(', ') ?? 'application/json';
    headers['Accept-Encoding'] = 'identity';
  }
  const seconds = retryAfter === undefined ? null : Math.max(1, Math.ceil(retryAfter));
  if (seconds !== null) headers['Retry-After'] = String(seconds);
  if (quota !== undefined) {
    // Structured fields of draft-ietf-httpapi-ratelimit-headers-10: a quota of `q` in a window of `w` seconds or in the unit `qu`;
    // `r` of the quota is left for the next `t` seconds.
    const windowSeconds = 'windowSeconds' in quota ? quota.windowSeconds : null;
    const unit = windowSeconds === null ? 'qu="concurrent-requests"' : `w=${windowSeconds}`;
    const resetSeconds = seconds ?? windowSeconds;
    headers['RateLimit-Policy'] = `"${quota.name}";q=${quota.limit};${unit}`;
    headers['RateLimit'] = `"${quota.name}";r=0${resetSeconds === null ? '' : `;t=${resetSeconds}`}`;
  }
  return headers;
}

/** Answers every thrown error with a problem document, whether Nest or Fastify caught it. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly methods: AllowedMethods,
    private readonly records: RequestRecords,
    private readonly log: Log,
    private readonly errorForms: readonly ErrorForm[],
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** Answers an error. Also used for failures before routing, such as a path that cannot be decoded. */
  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refusal = toRefused(error, request.url, this.methods);
    const problem = toProblem(refusal, request.id);
    this.records.recordRefusal(request, refusal);
    // `busy` is not logged: it is expected and has a metric, and logging a stack for each would slow down other requests.
    if (problem.status >= 500 && problem.code !== 'busy') {
      this.log.error('request failed', { request_id: request.id, code: problem.code, err: refusal.cause ?? refusal });
    }
    if (reply.sent || reply.raw.headersSent) {
      reply.raw.destroy(); // breaks off a stream that failed midway, so that it does not look complete
      return;
    }
    if (refusal.code === 'method_not_allowed' && !reply.hasHeader('Allow')) {
      void reply.header('Allow', (this.methods.methodsOf(request.url) ?? []).join(', '));
    }
    const errorForm = this.errorForms.find(({ path }) => request.url.startsWith(path));
    void reply
      .status(problem.status)
      .headers(problemHeaders(refusal))
      .type(errorForm?.type ?? 'application/problem+json; charset=utf-8')
      .send(JSON.stringify(errorForm?.toBody(problem) ?? problem));
  }
}

export function toRefused(error: unknown, url: string, methods: AllowedMethods): Refused {
  const status = statusOf(error);
  if (status === 404) return methods.refusalOf(url);
  if (status === 413) return new Refused('payload_too_large');
  if (status === 415) return new Refused('unsupported_media_type');
  if (status === 503) return new Refused('busy', { retryAfter: 1, cause: error });
  if (status >= 400 && status < 500) return new Refused('bad_request', { cause: error });
  return refusalOfFailure(error);
}

/** The refusal that tells of a failure within the service. */
export function refusalOfFailure(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (isDatabaseOutage(error)) return new Refused('database_unavailable', { retryAfter: 5, cause: error });
  return new Refused('internal_error', { cause: error });
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  // Errors of Fastify are recognized by `statusCode`, because they have no class to test for.
  const hasStatus = typeof error === 'object' && error !== null && 'statusCode' in error;
  return hasStatus && typeof error.statusCode === 'number' ? error.statusCode : 500;
}
