/** Repeats the function in `kernel/`, because compiler and proof share no code (docs/decisions/0006). */
export function getOrInsert<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const created = create();
  map.set(key, created);
  return created;
}
