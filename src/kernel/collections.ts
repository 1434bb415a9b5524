/** A Map or a WeakMap. */
interface Cache<K, V> {
  get: (key: K) => V | undefined;
  set: (key: K, value: V) => unknown;
}

/** The value under a key; where there is none, a new one is made and kept (ECMAScript's `getOrInsertComputed`). */
export function getOrInsert<K, V>(map: Cache<K, V>, key: K, make: () => NoInfer<V>): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

/** Items with the same key, in their order (ECMAScript's `Map.groupBy`). */
export function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}
