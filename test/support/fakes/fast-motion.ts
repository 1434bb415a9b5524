import { NodeTimers } from '../../../src/platform/infrastructure/node-timers.js';

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
export async function inFastMotion<T>(work: () => Promise<T>, limit: number | null = null): Promise<T> {
  const real = globalThis.setTimeout;
  globalThis.setTimeout = new Proxy(real, {
    apply: (target, self, [callback, milliseconds, ...rest]: [unknown, number | undefined, ...unknown[]]): unknown =>
      Reflect.apply(target, self, [
        callback,
        (milliseconds ?? 0) / (limit === null || limit === milliseconds ? FACTOR : 1),
        ...rest,
      ]),
  });
  try {
    return await work();
  } finally {
    globalThis.setTimeout = real;
  }
}
