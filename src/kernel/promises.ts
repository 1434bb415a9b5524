/** Returns a function that runs asynchronous work, one call after the other. A failed call does not stop later calls. */
export function serialRunner(): <T>(work: () => Promise<T>) => Promise<T> {
  let previousCall: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = previousCall.then(work);
    previousCall = result.catch(() => undefined);
    return result;
  };
}

/** Wraps work so that concurrent calls share one run and its result. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let currentRun: Promise<T> | null = null;
  return () => (currentRun ??= work().finally(() => (currentRun = null)));
}

/** Waits for a promise until the signal is aborted; the work itself continues. @throws the signal's reason when it is aborted first */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  let onAbort: () => void = () => undefined;
  const rejection = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, rejection]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
