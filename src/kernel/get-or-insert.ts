/** The value under a key; where there is none, a new one is made and kept (ECMAScript's `getOrInsertComputed`). */
export function getOrInsert<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
