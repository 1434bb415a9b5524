import { NodeTimers } from '../../../src/kernel/clock.js';

const FACTOR = 20;

/** The machine's own, whose waits are over twenty times sooner. What is done meanwhile has its whole time. */
export class FastTimers extends NodeTimers {
  override wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return super.wait(milliseconds / FACTOR, signal);
  }
}

/**
 * Timers that are set while the work runs are up twenty times sooner: for the limits of drivers, to which no time can be handed
 * in. Nothing else may be under way that needs its time, unless it is known which timer is to be up.
 * @param limit in milliseconds; only timers of that time are up sooner
 */
export function inFastMotion<T>(work: () => Promise<T>, limit: number | null = null): Promise<T> {
  return atPace(
    (milliseconds) => (limit === null || limit === milliseconds ? milliseconds / FACTOR : milliseconds),
    work,
  );
}

/** Milliseconds, below the database driver's shortest limit. */
const SHORTEST_LIMIT = 1_500;

/** Limits of drivers that are set while the work runs are up twenty times later: for requests that are held on a machine that may be slow. */
export function inSlowMotion<T>(work: () => Promise<T>): Promise<T> {
  return atPace((milliseconds) => (milliseconds >= SHORTEST_LIMIT ? milliseconds * FACTOR : milliseconds), work);
}

async function atPace<T>(pace: (milliseconds: number) => number, work: () => Promise<T>): Promise<T> {
  const real = globalThis.setTimeout;
  globalThis.setTimeout = new Proxy(real, {
    apply: (target, self, [callback, milliseconds, ...rest]: [unknown, number | undefined, ...unknown[]]): unknown =>
      Reflect.apply(target, self, [callback, pace(milliseconds ?? 0), ...rest]),
  });
  try {
    return await work();
  } finally {
    globalThis.setTimeout = real;
  }
}
