import { types } from 'node:util';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';
import { Refused } from '../../kernel/errors.js';
import type { Log } from '../log.js';
import { problemHeaders, toProblem } from '../problem.js';
import type { RouteTable } from './route-table.js';

/** Also of another realm, where instanceof says no. */
const { isNativeError } = types;

/** Everything that is thrown, in Nest or before it is reached, becomes a problem document here, and nowhere else. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly routes: RouteTable,
    private readonly log: Log,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** Also for what fails in the server before it has found a route, such as a path that cannot be decoded. */
  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refused = this.refusal(error, request);
    const problem = toProblem(refused, request.id);
    // Busy is an answer, not a fault: it has its metric and its request's line, and in a storm a stack for each would cost those
    // who are served.
    if (problem.status >= 500 && problem.code !== 'busy') {
      this.log.error('request failed', { request_id: request.id, code: problem.code, err: refused.cause ?? refused });
    }
    if (reply.sent || reply.raw.headersSent) {
      reply.raw.destroy(); // a stream that fails midway is broken off, never ended cleanly
      return;
    }
    if (refused.code === 'method_not_allowed' && !reply.hasHeader('Allow')) {
      void reply.header('Allow', (this.routes.methodsOf(request.url) ?? []).join(', '));
    }
    void reply
      .status(problem.status)
      .headers(problemHeaders(refused))
      .type('application/problem+json; charset=utf-8')
      .send(JSON.stringify(problem));
  }

  private refusal(error: unknown, request: FastifyRequest): Refused {
    if (error instanceof Refused) return error;
    if (isDatabaseOutage(error)) return new Refused('database_unavailable', { retryAfter: 5, cause: error });
    const status = statusOf(error);
    if (status === 404) return this.routes.refusal(request.url);
    if (status === 413) return new Refused('payload_too_large');
    if (status === 415) return new Refused('unsupported_media_type');
    if (status === 503) return new Refused('busy', { retryAfter: 1, cause: error });
    if (status >= 400 && status < 500) return new Refused('bad_request', { cause: error });
    return new Refused('internal_error', { cause: error });
  }
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  // Fastify's errors are made without `new`: objects like any other.
  const has = typeof error === 'object' && error !== null && 'statusCode' in error;
  return has && typeof error.statusCode === 'number' ? error.statusCode : 500;
}

/** Connection failures of the driver (Node's socket codes; PostgreSQL's classes 08, 53 and 57P), and its waiting limit. */
function isDatabaseOutage(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  const source = 'driverError' in error && isNativeError(error.driverError) ? error.driverError : error;
  const code = 'code' in source && typeof source.code === 'string' ? source.code : '';
  if (/^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|08...|53...|57P0.)$/.test(code)) {
    return 'driverError' in error || 'severity' in source || 'query' in error || 'syscall' in source;
  }
  // A transaction whose connection is lost: TypeORM gives the connection back at once, and says only that to its next query.
  if (source instanceof QueryRunnerAlreadyReleasedError) return true;
  if (source instanceof QueryRunnerProviderAlreadyReleasedError) return true;
  return LOST_CONNECTION.test(source.message);
}

/** What the driver says without a code. */
const LOST_CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client (has encountered a connection error|was closed) and is not queryable)/;
