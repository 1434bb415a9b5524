/**
 * The conjuncts of a row filter as the compiler joins them, `(a) AND (b)`, each in its parentheses; any other text is one.
 * Joined again they are the text itself, so that a filter whose conjuncts are expressions that were written is their conjunction.
 */
export function conjuncts(filter: string): string[] {
  const parts: string[] = [];
  let begin = 0;
  let depth = 0;
  let quote = '';
  for (let at = 0; at < filter.length; at++) {
    const sign = filter.charAt(at);
    if (quote !== '') {
      if (sign === quote) quote = '';
      continue;
    }
    if (sign === "'" || sign === '"') quote = sign;
    if (sign === '(') depth++;
    if (sign === ')') depth--;
    if (depth > 0) continue;
    // Outside all parentheses: only the end of a part may stand here, and what joins it to the next.
    if (sign !== ')') return [filter];
    parts.push(filter.slice(begin, at + 1));
    if (at + 1 === filter.length) return parts;
    if (!filter.startsWith(JOINT, at + 1)) return [filter];
    begin = at + 1 + JOINT.length;
    at = begin - 1;
  }
  return [filter];
}

const JOINT = ' AND ';
