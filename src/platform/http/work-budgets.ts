import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Timers } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import type { AuthenticatedRequest } from './access.js';

/**
 * The budget of each person on a replica, in milliseconds of work. A person may spend `reserve` at once, and gains `share` of the time that
 * passes. A request shorter than `free` costs nothing. No request costs more than `max`, because part of its time may be waiting.
 */
const PERSON_BUDGET = { reserve: 3_000, share: 0.2, free: 10, max: 1_000, maxRequests: 4 };

/** Milliseconds in which a budget recovers after the whole `reserve` was spent. */
const WINDOW_MS = PERSON_BUDGET.reserve / PERSON_BUDGET.share;

/** The quota in the RateLimit headers: seconds of work in a window. */
const WORK_QUOTA = { name: 'seconds-of-work', limit: 3, windowSeconds: WINDOW_MS / 1_000 };

export interface WorkBudget {
  /** The time at which the budget is full again (`PERSON_BUDGET.reserve`). */
  recoveredAt: number;
  /** The number of expensive requests in progress. */
  requests: number;
}

export const FRESH_BUDGET: WorkBudget = { recoveredAt: 0, requests: 0 };

/** Seconds until the next expensive request is admitted; null: it is admitted now. */
export function secondsToWait(budget: WorkBudget, now: number): number | null {
  return secondsOverdrawn(budget, now) ?? (budget.requests >= PERSON_BUDGET.maxRequests ? 1 : null);
}

/** Seconds for which a budget stays overdrawn; null: it is not overdrawn. */
export function secondsOverdrawn(budget: WorkBudget, now: number): number | null {
  const overdraftMs = budget.recoveredAt - now - WINDOW_MS;
  return overdraftMs > 0 ? overdraftMs / 1_000 : null;
}

/** The budget after work that blocked the event loop for `milliseconds`. */
export function chargedBudget(budget: WorkBudget, milliseconds: number, now: number): WorkBudget {
  return { ...budget, recoveredAt: Math.max(budget.recoveredAt, now) + milliseconds / PERSON_BUDGET.share };
}

/** Cost of a request that took `milliseconds`: 0 below `free`, and never more than `max`, because other requests may have run in that time. */
export function costOf(milliseconds: number): number {
  return milliseconds < PERSON_BUDGET.free ? 0 : Math.min(milliseconds, PERSON_BUDGET.max);
}

export function isIdle(budget: WorkBudget, now: number): boolean {
  return budget.requests === 0 && budget.recoveredAt <= now;
}

/** The work that is charged to the user of a request. `always`: all. `refused`: parsing the body, and the rest only after a 4xx answer. */
export type ChargeMode = 'always' | 'refused';

interface RequestWork {
  userId: number;
  chargeMode: ChargeMode;
  startedAt: number;
  /** Milliseconds of body parsing that are already charged. */
  chargedParsingMs: number;
}

/** If there are more budgets than this, budgets that have recovered are dropped. */
const MAX_BUDGETS = 1_000;

/**
 * The budgets of all people on this replica (docs/decisions/0029). A request counts as in progress until it is answered, even if its client
 * has gone, because the work goes on.
 */
@Injectable()
export class WorkBudgets {
  private readonly budgets = new Map<number, WorkBudget>();
  private readonly workInProgress = new WeakMap<FastifyRequest, RequestWork>();

  constructor(private readonly timers: Timers) {}

  watch(server: FastifyInstance): void {
    server.addHook('onSend', (request, reply, _, done) => {
      this.endWork(request, reply.statusCode);
      done();
    });
  }

  /** Begins to measure a request. @throws Refused `too_many_requests` if the budget is spent, or too many of the person's requests are in progress */
  beginWork(request: FastifyRequest, userId: number, chargeMode: ChargeMode): void {
    const startedAt = this.timers.now();
    const budget = this.budgetOf(userId);
    throwIfOverdrawn(secondsToWait(budget, startedAt));
    this.workInProgress.set(request, { userId, chargeMode, startedAt, chargedParsingMs: 0 });
    if (chargeMode === 'always') this.keepBudget(userId, { ...budget, requests: budget.requests + 1 }, startedAt);
  }

  /**
   * Parses a body and charges the time. The budget is checked before each body, because many bodies may have arrived at the same time.
   * @throws Refused `too_many_requests`
   */
  chargeParsing<T>(request: FastifyRequest, parse: () => T): T {
    const work = this.workInProgress.get(request);
    if (work === undefined) return parse();
    const startedAt = this.timers.now();
    throwIfOverdrawn(secondsOverdrawn(this.budgetOf(work.userId), startedAt));
    try {
      return parse();
    } finally {
      const now = this.timers.now();
      work.chargedParsingMs = now - startedAt;
      this.keepBudget(work.userId, chargedBudget(this.budgetOf(work.userId), work.chargedParsingMs, now), now);
    }
  }

  private endWork(request: FastifyRequest, status: number): void {
    const work = this.workInProgress.get(request);
    if (work === undefined || !this.workInProgress.delete(request)) return;
    const { userId, chargeMode, startedAt, chargedParsingMs } = work;
    const now = this.timers.now();
    const budget = this.budgetOf(userId);
    const isCharged = chargeMode === 'always' || (status >= 400 && status < 500);
    const remainingMs = Math.max(0, costOf(now - startedAt) - chargedParsingMs);
    const newBudget = isCharged ? chargedBudget(budget, remainingMs, now) : budget;
    this.keepBudget(userId, { ...newBudget, requests: newBudget.requests - (chargeMode === 'always' ? 1 : 0) }, now);
  }

  private budgetOf(userId: number): WorkBudget {
    return this.budgets.get(userId) ?? FRESH_BUDGET;
  }

  private keepBudget(userId: number, budget: WorkBudget, now: number): void {
    this.budgets.set(userId, budget);
    if (this.budgets.size <= MAX_BUDGETS) return;
    for (const [id, otherBudget] of this.budgets) if (isIdle(otherBudget, now)) this.budgets.delete(id);
  }
}

function throwIfOverdrawn(seconds: number | null): void {
  if (seconds !== null) throw new Refused('too_many_requests', { quota: WORK_QUOTA, retryAfter: seconds });
}

const CHARGE_METADATA = 'grantline:counted-work';

/** Charges a route's time to the person's budget, and refuses requests with 429 before any work if the budget is spent. */
export const CountsWork = (chargeMode: ChargeMode = 'always'): MethodDecorator =>
  SetMetadata(CHARGE_METADATA, chargeMode);

/** Applies @CountsWork(). Runs after authentication and before the body is read (docs/decisions/0029). Each replica counts separately. */
@Injectable()
export class WorkGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly budgets: WorkBudgets,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const chargeMode = this.reflector.get<ChargeMode | undefined>(CHARGE_METADATA, context.getHandler());
    if (chargeMode === undefined) return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    this.budgets.beginWork(request, request.user.id, chargeMode);
    return true;
  }
}
