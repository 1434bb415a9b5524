/**
 * Patterns that match a list of names and nothing else, in the subset that Java's and JavaScript's regular expressions
 * read alike. The engine matches whole strings (`matches()`), so that an alternation needs no parentheses around it.
 */
export function anyOf(names: readonly string[]): string {
  if (names.length === 0) throw new Error('an empty pattern would mean everybody to the engine');
  return [...new Set(names)].sort().map(literal).join('|');
}

/** `a.b` → `a[.]b`. No backslash where a class will do: in an impersonation's `new_user` the engine would eat it. */
export function literal(name: string): string {
  return name.replace(/[.$|?*+(){}]|[\\^[\]]/g, (special) =>
    '\\^[]'.includes(special) ? `\\${special}` : `[${special}]`,
  );
}
