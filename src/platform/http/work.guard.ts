import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { AuthenticatedRequest } from './access.js';
import { HandlerMarks } from './handler-marks.js';
import { type Counted, WorkBudgets } from './work-budgets.js';

const COUNTED = 'grantline:counted-work';

/**
 * Counts what a route takes against the person's budget, and refuses it with 429 before any work while that is spent.
 * @param counted `refused`: for routes whose success is limited elsewhere
 */
export const CountsWork = (counted: Counted = 'always'): MethodDecorator => SetMetadata(COUNTED, counted);

/** Between authentication and the reading of the body (docs/decisions/0029). Each replica counts for itself. */
@Injectable()
export class WorkGuard implements CanActivate {
  private readonly counted: HandlerMarks<Counted | undefined>;

  constructor(
    reflector: Reflector,
    private readonly budgets: WorkBudgets,
  ) {
    this.counted = new HandlerMarks((handler) => reflector.get<Counted | undefined>(COUNTED, handler));
  }

  canActivate(context: ExecutionContext): boolean {
    const counted = this.counted.of(context);
    if (counted === undefined) return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    this.budgets.begin(request, request.user.id, counted);
    return true;
  }
}
