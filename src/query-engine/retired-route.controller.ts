import { All, type CanActivate, Controller, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Refused } from '../kernel/errors.js';
import { Public } from '../platform/access.js';

/** A guard, because guards come before bodies: SQL as text/plain is not told that it has the wrong media type. */
@Injectable()
export class NothingAllowed implements CanActivate {
  canActivate(context: ExecutionContext): never {
    void context.switchToHttp().getResponse<FastifyReply>().header('Allow', '');
    throw new Refused('method_not_allowed', { detail: 'The query engine is not reached this way.' });
  }
}

/** Where the engine's public route once led (source document 4.7): 405 for everybody, and no method that would do. */
@Public()
@UseGuards(NothingAllowed)
@ApiExcludeController()
@Controller('v1/statement')
export class RetiredRouteController {
  @All(['', '*'])
  statement(): void {
    // NothingAllowed has answered.
  }
}
