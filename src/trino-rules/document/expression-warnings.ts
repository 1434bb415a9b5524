/** Warnings about the expression of a policy, a sentence each. */
export function expressionWarnings(policy: { kind: string; expression?: string }): string[] {
  const { kind, expression = '' } = policy;
  return [kind === 'row_filter' ? filterLeak(expression) : null, groupsOfProvider(expression)].filter(
    (each) => each !== null,
  );
}

/**
 * Why a reader's own predicate may run on rows outside a row filter: the engine plans a part of the filter as a join. Found by tokens: IN,
 * NOT IN, EXISTS, comparisons with ANY, SOME or ALL of a sub-query, and a sub-query with a qualified name that its FROM does not name
 * (a field of a row looks alike). Not found: an unqualified column of the filtered table in a sub-query.
 */
export function filterLeak(filter: string): string | null {
  const part = joinedPart(tokensOf(filter));
  if (part === null) return null;
  return (
    `${part} makes the row filter a join, before which a reader's own predicate may run and print rows that the filter leaves out: write a ` +
    'list of values or contains((SELECT array_agg(x) …), column), and over JDBC only comparisons of columns with constants'
  );
}

/** Why a filter or mask with `current_groups()` does not see the recorded groups. */
export function groupsOfProvider(expression: string): string | null {
  const isAsked = tokensOf(expression).some((each, i, all) => nameOf(each) === 'current_groups' && all[i + 1] === '(');
  if (!isAsked) return null;
  return (
    "current_groups() asks the engine's own group provider, not the groups that are recorded here: without a provider it is empty, and " +
    'NOT contains(current_groups(), …) lets all rows through; write a policy for each group'
  );
}

/** Columns of its table that an expression names, in lower case. Names in sub-queries and qualified names are left out. */
export function columnsIn(expression: string): Set<string> {
  const tokens = tokensOf(expression);
  const columns = new Set<string>();
  /** Open parentheses inside a sub-query. */
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    const [before = '', after = ''] = [tokens[at - 1], tokens[at + 1]];
    if (token === '(' && (depth > 0 || QUERY.has(after) || after === 'WITH')) depth += 1;
    else if (token === ')' && depth > 0) depth -= 1;
    // Not columns: types, units (INTERVAL '1' DAY, EXTRACT(DAY FROM …)), types of literals (DATE '…'), functions.
    const isNoName = /^(?:AS|[.]|'.*)$/s.test(before) || /^(?:[(.]|FROM|'.*)$/s.test(after);
    if (depth === 0 && /^["\p{L}_]/u.test(token) && !isNoName && !NO_COLUMN.has(token)) columns.add(nameOf(token));
  }
  for (const [at, token] of tokens.entries()) {
    if (token !== '->') continue;
    const start = tokens[at - 1] === ')' ? tokens.lastIndexOf('(', at) : at - 1;
    for (const parameter of tokens.slice(Math.max(start, 0), at)) columns.delete(nameOf(parameter));
  }
  return columns;
}

/** Words that are no columns: reserved words of the engine's grammar, and words next to operands. */
const NO_COLUMN = new Set(
  (
    'AND ARRAY AS AT BETWEEN CASE CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DISTINCT ' +
    'ELSE END ESCAPE FALSE IN INTERVAL IS LIKE LOCALTIME LOCALTIMESTAMP NOT NULL OR THEN TIME TRUE WHEN WITH ZONE'
  ).split(' '),
);

/** Matches one token, also comments, which no policy has. A doubled quote makes two tokens. */
const TOKEN = /'[^']*(?:'|$)|"[^"]*(?:"|$)|--[^\r\n]*|\/\*[^]*?(?:\*\/|$)|[\p{L}\p{N}_$@]+|->|[<>=!]+|\S/gu;

/** Limit of the text that is read: ten times the characters that a policy may have. */
const MOST_READ = 100_000;

/** Tokens without comments, words in upper case. */
function tokensOf(text: string): string[] {
  const all = [...text.slice(0, MOST_READ).matchAll(TOKEN)]
    .map(([token]) => token)
    .filter((token) => !/^(?:--|\/\*)/.test(token));
  return all.map((token) => (/^['"]/.test(token) ? token : token.toUpperCase()));
}

const QUERY = new Set(['SELECT', 'VALUES', 'TABLE', 'UNION', 'EXCEPT', 'INTERSECT']);
const END_OF_FROM = new Set([...QUERY, 'WHERE', 'GROUP', 'HAVING', 'ORDER', 'LIMIT', 'OFFSET', 'FETCH', 'WINDOW']);
/** Words in a FROM that are no tables. */
const IN_FROM = /^(?:AS|LATERAL|UNNEST|NATURAL|CROSS|INNER|LEFT|RIGHT|FULL|OUTER)$/;

/** The state inside a pair of parentheses. */
interface Scope {
  parent: Scope | null;
  /** The predicate before a sub-query, because of which the engine plans it as a join. */
  predicate: string | null;
  isQuery: boolean;
  isInQuery: boolean;
  isFrom: boolean;
  /** Whether the next name is a table. */
  isTable: boolean;
  tables: Set<string>;
}

function joinedPart(tokens: readonly string[]): string | null {
  const references: { name: string; scope: Scope }[] = [];
  let scope = opened(null);
  for (const [at, token] of tokens.entries()) {
    const [before = '', after = ''] = [tokens[at - 1], tokens[at + 1]];
    if (token === '(') scope = opened(scope, tokens[at - 2], before);
    else if (token === ')') {
      if (scope.isQuery && scope.predicate !== null && !scope.isInQuery) return `${scope.predicate} (SELECT …)`;
      scope = scope.parent ?? scope;
    } else if (END_OF_FROM.has(token) && (token !== 'TABLE' || after !== '(')) {
      scope.isQuery ||= QUERY.has(token);
      scope.isFrom = scope.isTable = false;
    } else if (token === 'ON' || token === 'USING') scope.isTable = false;
    else if (token === 'JOIN' || (token === 'FROM' && scope.isQuery && before !== 'DISTINCT'))
      scope.isFrom = scope.isTable = true;
    else if (token === ',') scope.isTable = scope.isFrom;
    else if (!/^["\p{L}_]/u.test(token)) continue;
    else if (after === '->' || (scope.isTable && !IN_FROM.test(token))) scope.tables.add(nameOf(token));
    else if (after === '.' && before !== '.' && !isCall(tokens, at)) references.push({ name: nameOf(token), scope });
  }
  const outer = references.find((each) => isOuter(each.name, each.scope));
  return outer === undefined ? null : `a sub-query with ${outer.name}.…, which its FROM does not name,`;
}

/** Parentheses in a FROM hold tables as well. */
function opened(parent: Scope | null, first = '', last = ''): Scope {
  const isOfAll = /^(?:ANY|SOME|ALL)$/.test(last) && /^[<>=!]+$/.test(first);
  const isNegated = last === 'IN' && first === 'NOT';
  const predicate = isOfAll || isNegated ? `${first} ${last}` : /^(?:IN|EXISTS)$/.test(last) ? last : null;
  const isTable = parent?.isTable === true && /^(?:FROM|JOIN|,|[(])$/.test(last);
  const tables = isTable ? parent.tables : new Set<string>();
  const isInQuery = parent !== null && (parent.isQuery || parent.isInQuery);
  return { parent, predicate, isInQuery, isQuery: false, isFrom: isTable, isTable, tables };
}

/** Whether neither the FROM of a sub-query nor those around it name the table. */
function isOuter(name: string, from: Scope): boolean {
  for (let scope: Scope | null = from; scope !== null; scope = scope.parent) if (scope.tables.has(name)) return false;
  return from.isQuery || from.isInQuery;
}

function nameOf(token: string): string {
  return token.replace(/^"|"$/g, '').toLowerCase();
}

/** Whether a qualified name is a function. */
function isCall(tokens: readonly string[], at: number): boolean {
  let end = at;
  while (tokens[end + 1] === '.') end += 2;
  return tokens[end + 1] === '(';
}
