import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readJsonBody } from './json-body.js';

/** Methods whose bodies are read; those of others are ignored (RFC 9110 section 9.3.1). */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Reads the body: after the access guard, so that the bodies of unauthenticated requests are never read, and before
 * validation. A guard and not an interceptor, because the first interceptor adds observables to every request.
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (!WITH_BODY.has(request.method)) return true;
    if (request.headers.expect?.toLowerCase() === '100-continue') http.getResponse<FastifyReply>().raw.writeContinue();
    request.body = await readJsonBody(request);
    return true;
  }
}
