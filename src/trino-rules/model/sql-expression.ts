/**
 * Why `text` cannot be a row filter or a column mask; null when it can. Filters are joined with AND, each in parentheses,
 * so a text that closes a parenthesis, begins a comment or ends the statement would change the meaning of the other filters.
 * The text is read with the engine's own tokens (Trino's SqlBase grammar); only the engine checks its names and types.
 */
export function expressionProblem(text: string): string | null {
  const read = tokensOf(text);
  return typeof read === 'string' ? read : null;
}

/** As `expressionProblem`; also a text that begins with a clause's word or has `==`, which the engine does not read. */
export function syntaxProblem(text: string): string | null {
  const read = tokensOf(text);
  return typeof read === 'string' ? read : misplaced(read);
}

/** As `syntaxProblem`; also a call of a function with a qualified name, which existing policies may have. */
export function policyExpressionProblem(text: string): string | null {
  const read = tokensOf(text);
  return typeof read === 'string' ? read : (misplaced(read) ?? qualifiedCall(read));
}

interface PlacedToken {
  token: string;
  at: number;
}

/** The tokens without spaces; a string: the problem. */
function tokensOf(text: string): PlacedToken[] | string {
  if (FORBIDDEN.test(text)) return 'control characters, line breaks and direction marks are not allowed';
  const open: { bracket: string; at: number }[] = [];
  const tokens: PlacedToken[] = [];
  for (let at = 0; at < text.length;) {
    const token = tokenAt(text, at);
    if (typeof token !== 'string') return token.problem;
    if (token !== ' ') tokens.push({ token, at });
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
  const [first] = tokens;
  if (first === undefined) return 'the expression is empty';
  if (STATEMENTS.has(first.token.toUpperCase()))
    return `one expression is expected, not ${first.token}: put a sub-query in parentheses`;
  return tokens;
}

function misplaced(tokens: readonly PlacedToken[]): string | null {
  const [first] = tokens;
  if (first !== undefined && CLAUSES.has(first.token.toUpperCase()))
    return `an expression does not begin with ${first.token}: leave it out`;
  const double = tokens.find(({ token }, index) => token === '=' && tokens[index + 1]?.token === '=');
  return double === undefined ? null : `"==" at ${position(double.at)} is no operator of SQL: write "="`;
}

/** The problem of a catalog's function: the engine checks it for the reader of the table, who often may not run it (seen on 483). */
function qualifiedCall(all: readonly PlacedToken[]): string | null {
  const tokens = all.filter(({ token }) => !/^u&$/i.test(token));
  const isName = (index: number): boolean => /^["a-z_]/i.test(tokens[index]?.token ?? '');
  const isDot = (index: number): boolean => tokens[index]?.token === '.';
  const call = tokens.findIndex(({ token }, index) => token === '(' && isName(index - 1) && isDot(index - 2));
  if (call === -1) return null;
  let start = call - 1;
  while (isDot(start - 1) && isName(start - 2)) start -= 2;
  const name = tokens.slice(start, call).map(({ token }) => token);
  return `${name.join('')} at ${position(tokens[start]?.at ?? 0)} is a function of a catalog, which readers may not run: call a built-in one`;
}

/** Closing brackets by their opening ones. */
const CLOSING = new Map([
  ['(', ')'],
  ['[', ']'],
]);
const STATEMENTS = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE']);
const CLAUSES = new Set(['WHERE', 'AND', 'OR', 'FROM', 'ON', 'HAVING']);
/** Direction marks make a text look different from what the engine reads. */
const FORBIDDEN = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** `U&` before a quote introduces a string or a name with escapes. */
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

/** Offset of the closing quote; two quotes in a row are an escaped one. */
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
