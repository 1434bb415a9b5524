/** Warnings about the SQL expression of a policy, one sentence each. */
export function expressionWarnings(policy: { kind: string; expression?: string }): string[] {
  const { kind, expression = '' } = policy;
  return [kind === 'row_filter' ? filterLeakProblem(expression) : null, currentGroupsProblem(expression)].filter(
    (each) => each !== null,
  );
}

/**
 * Warns about a row filter that the engine plans as a join, because a reader's own predicate may then run on rows that the filter leaves
 * out. Such filters have a sub-query. A warning can be false, because a field of a row looks like a qualified column (`t.c`).
 */
export function filterLeakProblem(filter: string): string | null {
  const joinCause = predicatePlannedAsJoin(tokensOf(filter));
  if (joinCause === null) return null;
  return (
    `${joinCause} makes the row filter a join, before which a reader's own predicate may run and print rows that the filter leaves out: write a ` +
    'list of values or contains((SELECT array_agg(x) …), column), and over JDBC only comparisons of columns with constants'
  );
}

/** Warns about `current_groups()` in a filter or mask, because this function does not know Grantline's groups. */
export function currentGroupsProblem(expression: string): string | null {
  const callsFunction = tokensOf(expression).some(
    (each, i, tokens) => nameOf(each) === 'current_groups' && tokens[i + 1] === '(',
  );
  if (!callsFunction) return null;
  return (
    "current_groups() asks the engine's own group provider, not the groups that are recorded here: without a provider it is empty, and " +
    'NOT contains(current_groups(), …) lets all rows through; write a policy for each group'
  );
}

/** The columns that an expression names, in lower case. Names in sub-queries and qualified names are left out. */
export function columnsIn(expression: string): Set<string> {
  const tokens = tokensOf(expression);
  const columns = new Set<string>();
  /** Number of open parentheses since a sub-query began; 0 outside of sub-queries. */
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    const [previousToken = '', nextToken = ''] = [tokens[index - 1], tokens[index + 1]];
    if (token === '(' && (depth > 0 || QUERY_WORDS.has(nextToken) || nextToken === 'WITH')) depth += 1;
    else if (token === ')' && depth > 0) depth -= 1;
    // Excludes words that are not columns: types, units (INTERVAL '1' DAY, EXTRACT(DAY FROM …)), types of literals (DATE '…'), functions.
    const isNotColumn = /^(?:AS|[.]|'.*)$/s.test(previousToken) || /^(?:[(.]|FROM|'.*)$/s.test(nextToken);
    if (depth === 0 && /^["\p{L}_]/u.test(token) && !isNotColumn && !NON_COLUMN_WORDS.has(token))
      columns.add(nameOf(token));
  }
  for (const [index, token] of tokens.entries()) {
    if (token !== '->') continue;
    const parametersStart = tokens[index - 1] === ')' ? tokens.lastIndexOf('(', index) : index - 1;
    for (const parameter of tokens.slice(Math.max(parametersStart, 0), index)) columns.delete(nameOf(parameter));
  }
  return columns;
}

/** Words that are no columns: reserved words of the engine's grammar, and keywords inside expressions (`ESCAPE`, `AT TIME ZONE`). */
const NON_COLUMN_WORDS = new Set(
  (
    'AND ARRAY AS AT BETWEEN CASE CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DISTINCT ' +
    'ELSE END ESCAPE FALSE IN INTERVAL IS LIKE LOCALTIME LOCALTIMESTAMP NOT NULL OR THEN TIME TRUE WHEN WITH ZONE'
  ).split(' '),
);

/** Matches one token. A comment is one token. A text with a doubled quote is two tokens. */
const TOKEN_PATTERN = /'[^']*(?:'|$)|"[^"]*(?:"|$)|--[^\r\n]*|\/\*[^]*?(?:\*\/|$)|[\p{L}\p{N}_$@]+|->|[<>=!]+|\S/gu;

/** Number of characters that are read of a text. Expressions of policies have at most a tenth of this length. */
const MAX_CHARACTERS = 100_000;

function tokensOf(text: string): string[] {
  const tokens = [...text.slice(0, MAX_CHARACTERS).matchAll(TOKEN_PATTERN)]
    .map(([token]) => token)
    .filter((token) => !/^(?:--|\/\*)/.test(token));
  return tokens.map((token) => (/^['"]/.test(token) ? token : token.toUpperCase()));
}

const QUERY_WORDS = new Set(['SELECT', 'VALUES', 'TABLE', 'UNION', 'EXCEPT', 'INTERSECT']);
const WORDS_AFTER_FROM = new Set([...QUERY_WORDS, ...'WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH WINDOW'.split(' ')]);
/** Words in a FROM that are no tables. */
const NON_TABLE_WORDS = /^(?:AS|LATERAL|UNNEST|NATURAL|CROSS|INNER|LEFT|RIGHT|FULL|OUTER)$/;

interface ParenthesesState {
  parent: ParenthesesState | null;
  /** The predicate before the parentheses, such as `NOT IN`, if the engine plans its sub-query as a join; otherwise null. */
  predicate: string | null;
  isQuery: boolean;
  isInQuery: boolean;
  isInFromClause: boolean;
  expectsTable: boolean;
  tableNames: Set<string>;
}

function predicatePlannedAsJoin(tokens: readonly string[]): string | null {
  const references: { name: string; scope: ParenthesesState }[] = [];
  let scope = openScope(null);
  for (const [index, token] of tokens.entries()) {
    const [previousToken = '', nextToken = ''] = [tokens[index - 1], tokens[index + 1]];
    if (token === '(') scope = openScope(scope, tokens[index - 2], previousToken);
    else if (token === ')') {
      if (scope.isQuery && scope.predicate !== null && !scope.isInQuery) return `${scope.predicate} (SELECT …)`;
      scope = scope.parent ?? scope;
    } else if (WORDS_AFTER_FROM.has(token) && (token !== 'TABLE' || nextToken !== '(')) {
      scope.isQuery ||= QUERY_WORDS.has(token);
      scope.isInFromClause = scope.expectsTable = false;
    } else if (token === 'ON' || token === 'USING') scope.expectsTable = false;
    else if (token === 'JOIN' || (token === 'FROM' && scope.isQuery && previousToken !== 'DISTINCT'))
      scope.isInFromClause = scope.expectsTable = true;
    else if (token === ',') scope.expectsTable = scope.isInFromClause;
    else if (!/^["\p{L}_]/u.test(token)) continue;
    else if (nextToken === '->' || (scope.expectsTable && !NON_TABLE_WORDS.test(token)))
      scope.tableNames.add(nameOf(token));
    else if (nextToken === '.' && previousToken !== '.' && !isCall(tokens, index))
      references.push({ name: nameOf(token), scope });
  }
  const outerReference = references.find((each) => isOuterReference(each.name, each.scope));
  return outerReference === undefined
    ? null
    : `a sub-query with ${outerReference.name}.…, which its FROM does not name,`;
}

function openScope(parent: ParenthesesState | null, secondLastToken = '', previousToken = ''): ParenthesesState {
  const isQuantified = /^(?:ANY|SOME|ALL)$/.test(previousToken) && /^[<>=!]+$/.test(secondLastToken);
  const isNegated = previousToken === 'IN' && secondLastToken === 'NOT';
  const unaryPredicate = /^(?:IN|EXISTS)$/.test(previousToken) ? previousToken : null;
  const predicate = isQuantified || isNegated ? `${secondLastToken} ${previousToken}` : unaryPredicate;
  const expectsTable = parent?.expectsTable === true && /^(?:FROM|JOIN|,|[(])$/.test(previousToken);
  const tableNames = expectsTable ? parent.tableNames : new Set<string>();
  const isInQuery = parent !== null && (parent.isQuery || parent.isInQuery);
  return { parent, predicate, isInQuery, isQuery: false, isInFromClause: expectsTable, expectsTable, tableNames };
}

/** Whether a name in a sub-query is in no FROM of the sub-query or of the queries around it. */
function isOuterReference(name: string, innerScope: ParenthesesState): boolean {
  for (let scope: ParenthesesState | null = innerScope; scope !== null; scope = scope.parent)
    if (scope.tableNames.has(name)) return false;
  return innerScope.isQuery || innerScope.isInQuery;
}

function nameOf(token: string): string {
  return token.replace(/^"|"$/g, '').toLowerCase();
}

/** Whether the qualified name at this token is that of a function. */
function isCall(tokens: readonly string[], index: number): boolean {
  let nameEnd = index;
  while (tokens[nameEnd + 1] === '.') nameEnd += 2;
  return tokens[nameEnd + 1] === '(';
}
