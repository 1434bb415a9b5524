import { setImmediate } from 'node:timers/promises';

/** Longest time without other work in between. */
const SLICE_MS = 20;

/** Lets other requests through between the steps. */
export async function* inSlices<T>(steps: Iterable<T>): AsyncGenerator<T> {
  let begun = performance.now();
  for (const step of steps) {
    yield step;
    if (performance.now() - begun <= SLICE_MS) continue;
    await setImmediate();
    begun = performance.now();
  }
}
