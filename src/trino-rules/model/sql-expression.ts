/**
 * Why `text` cannot be a row filter or a column mask; null when it can. Filters are joined with AND, each in parentheses,
 * so that a text which closes a parenthesis, begins a comment or ends the statement would change what the others mean.
 * It is read with the engine's own tokens (Trino's SqlBase grammar); its names and types are checked by the engine.
 */
export function expressionProblem(text: string): string | null {
  if (FORBIDDEN.test(text)) return 'control characters, line breaks and direction marks are not allowed';
  const open: { bracket: string; at: number }[] = [];
  let first: string | null = null;
  for (let at = 0; at < text.length;) {
    const token = tokenAt(text, at);
    if (typeof token !== 'string') return token.problem;
    if (token !== ' ') first ??= token;
    if (token === ',' && open.length === 0)
      return `one expression is expected, but there is a comma at ${position(at)}`;
    if (CLOSING.has(token)) open.push({ bracket: token, at });
    if (token === ')' || token === ']') {
      const last = open.pop();
      if (!last || CLOSING.get(last.bracket) !== token) return `"${token}" at ${position(at)} closes nothing`;
    }
    at += token.length;
  }
  const left = open.pop();
  if (left) return `"${left.bracket}" at ${position(left.at)} is never closed`;
  if (first === null) return 'the expression is empty';
  if (STATEMENTS.has(first.toUpperCase()))
    return `one expression is expected, not ${first}: put a sub-query in parentheses`;
  return null;
}

/** By the opening bracket. */
const CLOSING = new Map([
  ['(', ')'],
  ['[', ']'],
]);
const STATEMENTS = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE']);
/** Direction marks make a text look like another one than the engine reads. */
const FORBIDDEN = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** `U&` only where it introduces a string or a name with escapes, in which quotes work as in any other. */
const WORD = /u&(?=['"])|[a-z0-9_]+/iy;
const SIGN = /\|\||[-+*/%=<>!.,:()[\] ]/y;

/** The token that begins at `at`, unchanged; a quoted one with its quotes. */
function tokenAt(text: string, at: number): string | { problem: string } {
  const two = text.slice(at, at + 2);
  if (two === '--' || two === '/*' || two === '*/') return { problem: `a comment begins at ${position(at)}` };
  const one = two.charAt(0);
  if (one === "'" || one === '"') {
    const end = closingQuote(text, at, one);
    if (end !== null) return text.slice(at, end + 1);
    return { problem: `the ${one === "'" ? 'string' : 'quoted name'} at ${position(at)} is never closed` };
  }
  if (one === ';') return { problem: `a semicolon ends the expression at ${position(at)}` };
  const token = matchAt(WORD, text, at) ?? matchAt(SIGN, text, at);
  return token ?? { problem: `${JSON.stringify(one)} at ${position(at)} means nothing outside quotes` };
}

/** Two quotes in a row are an escaped one. */
function closingQuote(text: string, from: number, quote: string): number | null {
  for (let end = text.indexOf(quote, from + 1); end !== -1; end = text.indexOf(quote, end + 2)) {
    if (text[end + 1] !== quote) return end;
  }
  return null;
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

function position(at: number): string {
  return `character ${at + 1}`;
}
