/** Row filters as one expression, whatever order they come in: a row must pass all of them. */
export function joinFilters(expressions: Iterable<string>): string | null {
  const distinct = [...new Set(expressions)].sort();
  return distinct.length === 0 ? null : distinct.map((expression) => `(${expression})`).join(' AND ');
}
