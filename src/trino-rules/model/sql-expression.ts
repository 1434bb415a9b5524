/**
 * The reason why `text` cannot be a row filter or a column mask; null: it can. Filters are joined with AND, each in parentheses, so a
 * text that closes a parenthesis, begins a comment or ends the statement would change the meaning of the other filters. The text is
 * read in the tokens of Trino's SqlBase grammar. Only the engine checks names and types.
 */
export function expressionProblem(text: string): string | null {
  const tokens = tokensOf(text);
  return typeof tokens === 'string' ? tokens : null;
}

/** Like `expressionProblem`, but also refuses `==` and a text that begins with the word of a clause (`WHERE …`). */
export function syntaxProblem(text: string): string | null {
  const tokens = tokensOf(text);
  return typeof tokens === 'string' ? tokens : clauseOrOperatorProblem(tokens);
}

/** Like `syntaxProblem`, but also refuses calls of functions with qualified names. */
export function policyExpressionProblem(text: string): string | null {
  const tokens = tokensOf(text);
  return typeof tokens === 'string' ? tokens : (clauseOrOperatorProblem(tokens) ?? qualifiedCallProblem(tokens));
}

interface PlacedToken {
  token: string;
  offset: number;
}

/** The tokens of a text, without spaces, or the problem of the text as a string. */
function tokensOf(text: string): PlacedToken[] | string {
  if (FORBIDDEN_CHARACTERS.test(text)) return 'control characters, line breaks and direction marks are not allowed';
  const openBrackets: PlacedToken[] = [];
  const tokens: PlacedToken[] = [];
  for (let offset = 0; offset < text.length;) {
    const token = tokenAt(text, offset);
    if (typeof token !== 'string') return token.problem;
    if (token !== ' ') tokens.push({ token, offset });
    if (token === ',' && openBrackets.length === 0)
      return `one expression is expected, but there is a comma at ${positionOf(offset)}`;
    if (CLOSING_BRACKETS.has(token)) openBrackets.push({ token, offset });
    if (token === ')' || token === ']') {
      const openingBracket = openBrackets.pop();
      if (!openingBracket || CLOSING_BRACKETS.get(openingBracket.token) !== token)
        return `"${token}" at ${positionOf(offset)} closes nothing`;
    }
    offset += token.length;
  }
  const unclosedBracket = openBrackets.pop();
  if (unclosedBracket) return `"${unclosedBracket.token}" at ${positionOf(unclosedBracket.offset)} is never closed`;
  const [first] = tokens;
  if (first === undefined) return 'the expression is empty';
  if (STATEMENT_WORDS.has(first.token.toUpperCase()))
    return `one expression is expected, not ${first.token}: put a sub-query in parentheses`;
  return tokens;
}

function clauseOrOperatorProblem(tokens: readonly PlacedToken[]): string | null {
  const [first] = tokens;
  if (first !== undefined && CLAUSE_WORDS.has(first.token.toUpperCase()))
    return `an expression does not begin with ${first.token}: leave it out`;
  const doubleEquals = tokens.find(({ token }, index) => token === '=' && tokens[index + 1]?.token === '=');
  return doubleEquals === undefined
    ? null
    : `"==" at ${positionOf(doubleEquals.offset)} is no operator of SQL: write "="`;
}

/** Refuses functions of catalogs, because every reader of the table would need the right to run the function (seen on 483). */
function qualifiedCallProblem(allTokens: readonly PlacedToken[]): string | null {
  const tokens = allTokens.filter(({ token }) => !/^u&$/i.test(token));
  const isName = (index: number): boolean => /^["a-z_]/i.test(tokens[index]?.token ?? '');
  const isDot = (index: number): boolean => tokens[index]?.token === '.';
  const callIndex = tokens.findIndex(({ token }, index) => token === '(' && isName(index - 1) && isDot(index - 2));
  if (callIndex === -1) return null;
  let nameStart = callIndex - 1;
  while (isDot(nameStart - 1) && isName(nameStart - 2)) nameStart -= 2;
  const name = tokens.slice(nameStart, callIndex).map(({ token }) => token);
  return `${name.join('')} at ${positionOf(tokens[nameStart]?.offset ?? 0)} is a function of a catalog, which readers may not run: call a built-in one`;
}

const CLOSING_BRACKETS = new Map([
  ['(', ')'],
  ['[', ']'],
]);
const STATEMENT_WORDS = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE']);
const CLAUSE_WORDS = new Set(['WHERE', 'AND', 'OR', 'FROM', 'ON', 'HAVING']);
/** Characters that expressions must not have. Direction marks make a text look different from the text that the engine reads. */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** Matches a word, or the `U&` before a quote, which introduces a string or a name with escapes. */
const WORD_PATTERN = /u&(?=['"])|[a-z0-9_]+/iy;
const OPERATOR_PATTERN = /\|\||[-+*/%=<>!.,:()[\] ]/y;

/** The token that begins at `offset`, unchanged; a quoted one with its quotes. */
function tokenAt(text: string, offset: number): string | { problem: string } {
  const pair = text.slice(offset, offset + 2);
  if (pair === '--' || pair === '/*' || pair === '*/') return { problem: `a comment begins at ${positionOf(offset)}` };
  const character = pair.charAt(0);
  if (character === "'" || character === '"') {
    const closingOffset = closingQuote(text, offset, character);
    if (closingOffset !== null) return text.slice(offset, closingOffset + 1);
    const subject = character === "'" ? 'string' : 'quoted name';
    return { problem: `the ${subject} at ${positionOf(offset)} is never closed` };
  }
  if (character === ';') return { problem: `a semicolon ends the expression at ${positionOf(offset)}` };
  const token = matchAt(WORD_PATTERN, text, offset) ?? matchAt(OPERATOR_PATTERN, text, offset);
  return token ?? { problem: `${JSON.stringify(character)} at ${positionOf(offset)} means nothing outside quotes` };
}

/** Offset of the closing quote; null: there is none. Two quotes in a row are one escaped quote. */
function closingQuote(text: string, start: number, quote: string): number | null {
  for (let end = text.indexOf(quote, start + 1); end !== -1; end = text.indexOf(quote, end + 2)) {
    if (text[end + 1] !== quote) return end;
  }
  return null;
}

function matchAt(pattern: RegExp, text: string, offset: number): string | null {
  pattern.lastIndex = offset;
  return pattern.exec(text)?.[0] ?? null;
}

function positionOf(offset: number): string {
  return `character ${offset + 1}`;
}
