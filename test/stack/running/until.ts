import { setTimeout as pause } from 'node:timers/promises';

const BETWEEN_PROBES = 200;
/** A request may stay without an end whatever its signal says (seen once with Node 20's fetch, at an engine that was starting). */
const MOST_OF_A_PROBE = 60_000;

/**
 * Asks `probe` again and again until it answers something, and returns that.
 * @param within milliseconds; then it throws, with the last thing that `probe` threw as the cause
 */
export async function until<T>(what: string, within: number, probe: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + within;
  let lastFailure: unknown;
  do {
    try {
      const answer = await Promise.race([probe(), pause(MOST_OF_A_PROBE, undefined, { ref: false })]);
      if (answer !== undefined) return answer;
    } catch (failure) {
      if (failure instanceof Hopeless) throw failure;
      lastFailure = failure;
    }
    await pause(BETWEEN_PROBES);
  } while (performance.now() < deadline);
  throw new Error(`${what}: not within ${within / 1_000} s`, { cause: lastFailure });
}

/** Thrown by a probe when waiting longer makes no sense. */
export class Hopeless extends Error {}
