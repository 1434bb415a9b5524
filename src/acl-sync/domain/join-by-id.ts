/** Full outer join by id. */
export function joinById<T extends { id: number }>(
  before: readonly T[],
  after: readonly T[],
): ([T, T] | [T, undefined] | [undefined, T])[] {
  const afterById = new Map(after.map((row) => [row.id, row]));
  const known = new Set(before.map(({ id }) => id));
  return [
    ...before.map((row): [T, T] | [T, undefined] => {
      const same = afterById.get(row.id);
      return same === undefined ? [row, same] : [row, same];
    }),
    ...after.filter(({ id }) => !known.has(id)).map((row): [undefined, T] => [undefined, row]),
  ];
}
