import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import { Timers } from '../../kernel/clock.js';
import {
  afterWork,
  costOf,
  freshBudget,
  isIdle,
  secondsOverdrawn,
  secondsToWait,
  WORK_QUOTA,
  type WorkBudget,
} from './work-budget.js';

/** What is counted of a request: all of it, or its body, and the rest only where it ends with a 4xx. */
export type Counted = 'always' | 'refused';

interface Work {
  userId: number;
  counted: Counted;
  begun: number;
  /** Milliseconds that have been counted already. */
  parsed: number;
}

/** Above so many budgets, those that are whole again are forgotten. */
const MAX_BUDGETS = 1_000;

/**
 * What each person takes of this replica (docs/decisions/0029). A request counts until it is answered, whether its client is
 * still there or not: work goes on for clients that have gone.
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

  /** @throws Refused `too_many_requests` while the person's budget is spent, or too many such requests are under way */
  begin(request: FastifyRequest, userId: number, counted: Counted): void {
    const begun = this.timers.now();
    const budget = this.of(userId, begun);
    refuse(secondsToWait(budget, begun));
    this.underWay.set(request, { userId, counted, begun, parsed: 0 });
    if (counted === 'always') this.keep(userId, { ...budget, inFlight: budget.inFlight + 1 }, begun);
  }

  /**
   * Counts the parsing of a body. Many bodies may have come at once: each is parsed only while the budget lasts.
   * @throws Refused `too_many_requests`
   */
  parsing<T>(request: FastifyRequest, parse: () => T): T {
    const work = this.underWay.get(request);
    if (work === undefined) return parse();
    const begun = this.timers.now();
    refuse(secondsOverdrawn(this.of(work.userId, begun), begun));
    try {
      return parse();
    } finally {
      const now = this.timers.now();
      work.parsed = now - begun;
      this.keep(work.userId, afterWork(this.of(work.userId, begun), work.parsed, now), now);
    }
  }

  private end(request: FastifyRequest, status: number): void {
    const work = this.underWay.get(request);
    if (work === undefined || !this.underWay.delete(request)) return;
    const { userId, counted, begun, parsed } = work;
    const now = this.timers.now();
    const budget = this.of(userId, now);
    const isCharged = counted === 'always' || (status >= 400 && status < 500);
    const rest = Math.max(0, costOf(now - begun) - parsed);
    const charged = isCharged ? afterWork(budget, rest, now) : budget;
    this.keep(userId, { ...charged, inFlight: charged.inFlight - (counted === 'always' ? 1 : 0) }, now);
  }

  private of(userId: number, now: number): WorkBudget {
    return this.budgets.get(userId) ?? freshBudget(now);
  }

  private keep(userId: number, budget: WorkBudget, now: number): void {
    this.budgets.set(userId, budget);
    if (this.budgets.size <= MAX_BUDGETS) return;
    for (const [id, known] of this.budgets) if (isIdle(known, now)) this.budgets.delete(id);
  }
}

function refuse(seconds: number | null): void {
  if (seconds !== null) throw new Refused('too_many_requests', { quota: WORK_QUOTA, retryAfter: seconds });
}
