import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Timers } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import type { AuthenticatedRequest } from './access.js';

/**
 * How much of a replica's time one person's expensive requests may take, in milliseconds: a fifth, after a reserve of three seconds. A
 * request that takes less than `free` costs nothing, and one costs at most `most`, because it may have waited.
 */
const BUDGET = { reserve: 3_000, share: 0.2, free: 10, most: 1_000, inFlight: 4 };

/** Milliseconds until a spent reserve has recovered. */
const WINDOW = BUDGET.reserve / BUDGET.share;

/** The quota in the RateLimit headers: seconds of work in a window. */
const WORK_QUOTA = { name: 'seconds-of-work', limit: 3, windowSeconds: WINDOW / 1_000 };

/** One person's budget of time. */
export interface WorkBudget {
  /** When the whole reserve has recovered. */
  wholeAt: number;
  inFlight: number;
}

export const FRESH_BUDGET: WorkBudget = { wholeAt: 0, inFlight: 0 };

/** Seconds until the next expensive request is admitted; null: now. */
export function secondsToWait(budget: WorkBudget, now: number): number | null {
  return secondsOverdrawn(budget, now) ?? (budget.inFlight >= BUDGET.inFlight ? 1 : null);
}

/** Seconds until an overdrawn reserve is positive again; null: it is not overdrawn. */
export function secondsOverdrawn(budget: WorkBudget, now: number): number | null {
  const over = budget.wholeAt - now - WINDOW;
  return over > 0 ? over / 1_000 : null;
}

/** The budget after work that blocked the event loop for `milliseconds`. */
export function afterWork(budget: WorkBudget, milliseconds: number, now: number): WorkBudget {
  return { ...budget, wholeAt: Math.max(budget.wholeAt, now) + milliseconds / BUDGET.share };
}

/** Cost of a request that took `milliseconds` during which other requests ran as well. */
export function costOf(milliseconds: number): number {
  return milliseconds < BUDGET.free ? 0 : Math.min(milliseconds, BUDGET.most);
}

export function isIdle(budget: WorkBudget, now: number): boolean {
  return budget.inFlight === 0 && budget.wholeAt <= now;
}

/** `always`: charge the whole request. `refused`: charge body parsing; charge the rest only on a 4xx answer. */
export type Counted = 'always' | 'refused';

interface Work {
  userId: number;
  counted: Counted;
  begun: number;
  /** Milliseconds of body parsing that are already charged. */
  parsed: number;
}

/** With more budgets than this, those that have recovered are dropped. */
const MAX_BUDGETS = 1_000;

/**
 * The time of this replica that each person uses (docs/decisions/0029). A request counts until it is answered, even if its client has gone,
 * because the work goes on.
 */
@Injectable()
export class WorkBudgets {
  private readonly budgets = new Map<number, WorkBudget>();
  private readonly underWay = new WeakMap<FastifyRequest, Work>();

  constructor(private readonly timers: Timers) {}

  watch(server: FastifyInstance): void {
    server.addHook('onSend', (request, reply, _, done) => {
      this.end(request, reply.statusCode);
      done();
    });
  }

  /** @throws Refused `too_many_requests` if the person's budget is spent, or too many expensive requests are in progress */
  begin(request: FastifyRequest, userId: number, counted: Counted): void {
    const begun = this.timers.now();
    const budget = this.budgetOf(userId);
    refuse(secondsToWait(budget, begun));
    this.underWay.set(request, { userId, counted, begun, parsed: 0 });
    if (counted === 'always') this.keepBudget(userId, { ...budget, inFlight: budget.inFlight + 1 }, begun);
  }

  /**
   * Charges the parsing of a body. Many bodies may have arrived at once, so each is parsed only while the budget lasts.
   * @throws Refused `too_many_requests`
   */
  chargeParsing<T>(request: FastifyRequest, parse: () => T): T {
    const work = this.underWay.get(request);
    if (work === undefined) return parse();
    const begun = this.timers.now();
    refuse(secondsOverdrawn(this.budgetOf(work.userId), begun));
    try {
      return parse();
    } finally {
      const now = this.timers.now();
      work.parsed = now - begun;
      this.keepBudget(work.userId, afterWork(this.budgetOf(work.userId), work.parsed, now), now);
    }
  }

  private end(request: FastifyRequest, status: number): void {
    const work = this.underWay.get(request);
    if (work === undefined || !this.underWay.delete(request)) return;
    const { userId, counted, begun, parsed } = work;
    const now = this.timers.now();
    const budget = this.budgetOf(userId);
    const isCharged = counted === 'always' || (status >= 400 && status < 500);
    const rest = Math.max(0, costOf(now - begun) - parsed);
    const charged = isCharged ? afterWork(budget, rest, now) : budget;
    this.keepBudget(userId, { ...charged, inFlight: charged.inFlight - (counted === 'always' ? 1 : 0) }, now);
  }

  private budgetOf(userId: number): WorkBudget {
    return this.budgets.get(userId) ?? FRESH_BUDGET;
  }

  private keepBudget(userId: number, budget: WorkBudget, now: number): void {
    this.budgets.set(userId, budget);
    if (this.budgets.size <= MAX_BUDGETS) return;
    for (const [id, known] of this.budgets) if (isIdle(known, now)) this.budgets.delete(id);
  }
}

function refuse(seconds: number | null): void {
  if (seconds !== null) throw new Refused('too_many_requests', { quota: WORK_QUOTA, retryAfter: seconds });
}

const COUNTED = 'grantline:counted-work';

/**
 * Charges a route's time to the person's budget, and refuses requests with 429 before any work if the budget is spent.
 * @param counted `refused`: for routes whose successful requests are limited elsewhere
 */
export const CountsWork = (counted: Counted = 'always'): MethodDecorator => SetMetadata(COUNTED, counted);

/** Applies @CountsWork() between authentication and the reading of the body (docs/decisions/0029). Each replica counts separately. */
@Injectable()
export class WorkGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly budgets: WorkBudgets,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const counted = this.reflector.get<Counted | undefined>(COUNTED, context.getHandler());
    if (counted === undefined) return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    this.budgets.begin(request, request.user.id, counted);
    return true;
  }
}
