/**
 * The share of a replica that a person's expensive requests may take, in milliseconds: a fifth of its time, after a reserve of three
 * seconds. What takes less than `free` is like any other request; one is counted as `most` at most, whatever it waited for.
 */
const BUDGET = { reserve: 3_000, share: 0.2, free: 10, most: 1_000, inFlight: 4 };

/** The quota's name and its numbers, for the RateLimit headers: seconds of work in a window. */
export const WORK_QUOTA = { name: 'seconds-of-work', limit: 3, windowSeconds: BUDGET.reserve / BUDGET.share / 1_000 };

/** One person's account of time. */
export interface WorkBudget {
  /** As of `at`: it shrinks since. */
  spent: number;
  at: number;
  inFlight: number;
}

export function freshBudget(now: number): WorkBudget {
  return { spent: 0, at: now, inFlight: 0 };
}

/** Seconds until the next expensive request is admitted; null: now. */
export function secondsToWait(budget: WorkBudget, now: number): number | null {
  return secondsOverdrawn(budget, now) ?? (budget.inFlight >= BUDGET.inFlight ? 1 : null);
}

/** Seconds until the reserve is there again; null: it is. */
export function secondsOverdrawn(budget: WorkBudget, now: number): number | null {
  const over = spentAt(budget, now) - BUDGET.reserve;
  return over > 0 ? over / BUDGET.share / 1_000 : null;
}

/** After so many milliseconds in which nothing else ran. */
export function afterWork(budget: WorkBudget, milliseconds: number, now: number): WorkBudget {
  return { ...budget, spent: spentAt(budget, now) + milliseconds, at: now };
}

/** What is counted of a request that took so many milliseconds, in which others ran as well. */
export function costOf(milliseconds: number): number {
  return milliseconds < BUDGET.free ? 0 : Math.min(milliseconds, BUDGET.most);
}

export function isIdle(budget: WorkBudget, now: number): boolean {
  return budget.inFlight === 0 && spentAt(budget, now) === 0;
}

function spentAt({ spent, at }: WorkBudget, now: number): number {
  return Math.max(0, spent - (now - at) * BUDGET.share);
}
