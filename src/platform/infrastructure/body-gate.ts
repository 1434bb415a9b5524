import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { UnreadableBody } from './json-body.js';

/** Lets a request with an unreadable body go no further. Interceptors run after guards and before validation. */
@Injectable()
export class BodyGate implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { body } = context.switchToHttp().getRequest<FastifyRequest>();
    if (body instanceof UnreadableBody) throw body.refused;
    return next.handle();
  }
}
