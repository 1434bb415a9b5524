/** The value of a key. An absent value is created and inserted (ECMAScript's `getOrInsertComputed`). */
export function getOrInsert<K, V>(
  map: { get: (key: K) => V | undefined; set: (key: K, value: V) => unknown },
  key: K,
  create: () => NoInfer<V>,
): V {
  const existingValue = map.get(key);
  if (existingValue !== undefined) return existingValue;
  const created = create();
  map.set(key, created);
  return created;
}

/** Lists of the items with equal keys, in the order of `items` (ECMAScript's `Map.groupBy`). */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
