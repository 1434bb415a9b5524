/** Repeats the function in `kernel/`, because compiler and proof share no code (docs/decisions/0006). */
export function getOrInsert<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
