import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import type { Log } from '../log/log.js';
import { type ErrorForm, problemHeaders, toProblem } from './problem.js';
import type { AllowedMethods } from './allowed-methods.js';
import { isDatabaseOutage } from '../database/database-outage.js';
import type { RequestRecords } from './request-records.js';

/** The one place where anything thrown, in Nest or before it, becomes a problem document. */
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

  /** Called for failures before routing as well, such as a path that cannot be decoded. */
  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refused = this.refused(error, request);
    const problem = toProblem(refused, request.id);
    this.records.refused(request, refused);
    // Busy is expected and has its metric; a stack for each would slow down the requests that are served.
    if (problem.status >= 500 && problem.code !== 'busy') {
      this.log.error('request failed', { request_id: request.id, code: problem.code, err: refused.cause ?? refused });
    }
    if (reply.sent || reply.raw.headersSent) {
      reply.raw.destroy(); // a stream that fails midway is broken off, never ended cleanly
      return;
    }
    if (refused.code === 'method_not_allowed' && !reply.hasHeader('Allow')) {
      void reply.header('Allow', (this.methods.of(request.url) ?? []).join(', '));
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
    if (status === 404) return this.methods.problem(request.url);
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
