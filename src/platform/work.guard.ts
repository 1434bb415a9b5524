import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { Refused } from '../kernel/errors.js';
import { Timers } from '../kernel/timers.js';
import type { AuthenticatedRequest } from './access.js';
import { afterWork, freshBudget, isIdle, secondsToWait, WORK_QUOTA, type WorkBudget } from './domain/work-budget.js';

const COUNTED = 'grantline:counted-work';
type Counted = 'always' | 'refused';

/** Above so many budgets, those that are whole again are forgotten. */
const MAX_BUDGETS = 1_000;

/**
 * Counts what a route takes against the person's budget, and refuses it with 429 before any work while that is spent.
 * @param when `refused`: only requests that end with a 4xx, for routes whose success is limited elsewhere
 */
export const CountsWork = (when: Counted = 'always'): MethodDecorator => SetMetadata(COUNTED, when);

/** Between authentication and the reading of the body (docs/decisions/0029). Each replica counts for itself. */
@Injectable()
export class WorkGuard implements CanActivate {
  private readonly budgets = new Map<number, WorkBudget>();

  constructor(
    private readonly reflector: Reflector,
    private readonly timers: Timers,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const counted = this.reflector.get<Counted | undefined>(COUNTED, context.getHandler());
    if (counted === undefined) return true;
    const http = context.switchToHttp();
    const { user } = http.getRequest<AuthenticatedRequest>();
    const reply = http.getResponse<FastifyReply>();
    const begun = this.timers.now();
    const budget = this.budgets.get(user.id) ?? freshBudget(begun);
    const seconds = secondsToWait(budget, begun);
    if (seconds !== null) throw new Refused('too_many_requests', { quota: WORK_QUOTA, retryAfter: seconds });
    const flight = counted === 'always' ? 1 : 0;
    this.keep(user.id, { ...budget, inFlight: budget.inFlight + flight }, begun);
    reply.raw.once('close', () => {
      const now = this.timers.now();
      const current = this.budgets.get(user.id) ?? freshBudget(now);
      const isCharged = counted === 'always' || (reply.statusCode >= 400 && reply.statusCode < 500);
      const charged = isCharged ? afterWork(current, now - begun, now) : current;
      this.keep(user.id, { ...charged, inFlight: charged.inFlight - flight }, now);
    });
    return true;
  }

  private keep(userId: number, budget: WorkBudget, now: number): void {
    this.budgets.set(userId, budget);
    if (this.budgets.size <= MAX_BUDGETS) return;
    for (const [id, known] of this.budgets) if (isIdle(known, now)) this.budgets.delete(id);
  }
}
