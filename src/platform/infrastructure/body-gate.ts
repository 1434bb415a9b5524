import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { UnreadableBody } from './json-body.js';

/**
 * Lets a request with an unreadable body go no further: after the access guard, so that a stranger gets 401 first, and before
 * validation. A guard and not an interceptor, because the first interceptor makes every request pay for observables.
 */
@Injectable()
export class BodyGate implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { body } = context.switchToHttp().getRequest<FastifyRequest>();
    if (body instanceof UnreadableBody) throw body.refused;
    return true;
  }
}
