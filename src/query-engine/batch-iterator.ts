/**
 * Rows one by one out of batches, of which an empty one is the end. A row of a batch waits for one microtask, where a
 * generator's would wait for several.
 * @param close called at the end, and where a loop is left early.
 */
export function batchIterator<T extends object>(
  fetch: () => Promise<readonly T[]>,
  close: () => Promise<void>,
): AsyncIterator<T, undefined, undefined> {
  let batch: readonly T[] = [];
  let position = 0;
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    batch = [];
    await close();
    return { done: true, value: undefined };
  };
  const next = async (): Promise<IteratorResult<T, undefined>> => {
    batch = await fetch();
    position = 1;
    const [value] = batch;
    return value === undefined ? end() : { done: false, value };
  };
  return {
    next: () => {
      const value = batch[position];
      position += 1;
      return value === undefined ? next() : Promise.resolve({ done: false, value });
    },
    return: end,
  };
}
