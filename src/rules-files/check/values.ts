import type { JsonNode } from '../../kernel/json-reader.js';
import type { ReportFinding } from './checks.js';
import type { ForeignColumn } from './foreign-rules.js';

/** A value in a message: `a list`, `the number 5`, `"yes"`. */
export function describeValue(node: JsonNode): string {
  switch (node.kind) {
    case 'number':
      return `the number ${shorten(node.text)}`;
    case 'string':
      return JSON.stringify(shorten(node.value));
    case 'boolean':
      return String(node.value);
    case 'object':
      return 'an object';
    case 'array':
      return 'a list';
    case 'null':
      return 'null';
  }
}

export function isGiven(key: string, node: JsonNode | undefined, report: ReportFinding): node is JsonNode {
  if (node?.kind === 'null') report('rules-null', `"${key}" is null, which the engine reads as absent`, node.at);
  return node !== undefined && node.kind !== 'null';
}

/** The text that the engine reads from a value, also from numbers and booleans. Null: the engine refuses the file. */
export function readText(key: string, node: JsonNode, report: ReportFinding): string | null {
  if (node.kind === 'string') return node.value;
  if (node.kind !== 'number' && node.kind !== 'boolean') {
    report('rules-wrong-type', `"${key}" must be a text, not ${describeValue(node)}`, node.at);
    return null;
  }
  const text = node.kind === 'number' ? numberText(node.text) : String(node.value);
  report('rules-value-coerced', `"${key}" should be a text; the engine makes "${shorten(text)}" of it`, node.at);
  return text;
}

/** A number as Java writes it: 1.50 is `1.5`, and 1e2 is `100.0`. */
function numberText(writtenText: string): string {
  if (/^-?[0-9]+$/.test(writtenText)) return BigInt(writtenText).toString();
  const value = Number(writtenText);
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** The boolean that the engine reads from a value. Null: the engine refuses the file. */
export function readBoolean(key: string, node: JsonNode, whenEmpty: boolean, report: ReportFinding): boolean | null {
  if (node.kind === 'boolean') return node.value;
  const value = coercedBoolean(node, whenEmpty);
  if (value === null) report('rules-wrong-type', `"${key}" must be true or false, not ${describeValue(node)}`, node.at);
  else {
    const message = `"${key}" should be true or false; the engine reads ${describeValue(node)} as ${value}`;
    report('rules-value-coerced', message, node.at);
  }
  return value;
}

function coercedBoolean(node: JsonNode, whenEmpty: boolean): boolean | null {
  if (node.kind === 'number') return /^-?[0-9]+$/.test(node.text) ? !/^-?0+$/.test(node.text) : null;
  if (node.kind !== 'string') return null;
  const word = node.value.trim();
  if (word === '' || word === 'null') return whenEmpty;
  if (/^(?:true|True|TRUE)$/.test(word)) return true;
  return /^(?:false|False|FALSE)$/.test(word) ? false : null;
}

/** The catalog mode that the engine reads from a value. Null: the engine refuses the file. */
export function readMode(node: JsonNode): string | null {
  if (node.kind === 'boolean') return node.value ? 'all' : 'none';
  const mode = node.kind === 'string' ? node.value.toLowerCase() : '';
  return ['all', 'read-only', 'none', 'owner'].includes(mode) ? mode : null;
}

/** Reads one of `words` in upper or lower case. With `isEnum`, the engine also reads a number, as the index of a word. Null: the engine refuses the file. */
export function readWord(
  key: string,
  node: JsonNode,
  words: readonly string[],
  isEnum: boolean,
  report: ReportFinding,
): string | null {
  const nodeText = node.kind === 'string' ? node.value : node.kind === 'number' ? numberText(node.text) : '';
  const writtenText = isEnum ? nodeText.trim() : nodeText;
  const word = words.find((each) => foldCase(each) === foldCase(writtenText));
  if (word !== undefined && node.kind === 'string') return word;
  const wordAtIndex = isEnum && /^(?:0|[1-9][0-9]*)$/.test(writtenText) ? words[Number(writtenText)] : undefined;
  if (wordAtIndex === undefined) {
    const message = `"${key}" knows ${words.join(', ')}, not ${describeValue(node)}: the engine refuses the file`;
    const isText = node.kind === 'string' || node.kind === 'number';
    report(isText ? 'rules-value-unknown' : 'rules-wrong-type', message, node.at);
    return null;
  }
  report('rules-value-coerced', `the engine reads ${describeValue(node)} in "${key}" as ${wordAtIndex}`, node.at);
  return wordAtIndex;
}

/** Folds case as Java's `String.equalsIgnoreCase` does, which reads the long s (ſ) as an s. */
function foldCase(word: string): string {
  return word.toUpperCase().toLowerCase();
}

const MAX_SHOWN_LENGTH = 60;

function shorten(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}

/** Reads SQL, which the engine parses only when a statement uses it. Null: the engine refuses the file. */
export function readExpression(key: string, node: JsonNode, report: ReportFinding): string | null {
  const text = readText(key, node, report);
  const message = `"${key}" is empty, which is no expression: every query that it concerns fails`;
  if (text !== null && !/\S/.test(text)) report('rules-text-empty', message, node.at);
  return text;
}

/** `{"user": …}`, the identity that an expression is evaluated as; null: none is given. */
export function readEnvironment(key: string, node: JsonNode, report: ReportFinding): string | null {
  if (node.kind !== 'object') {
    report('rules-wrong-type', `"${key}" must be an object, not ${describeValue(node)}`, node.at);
    return null;
  }
  let user: string | null = null;
  for (const { key: name, at, value } of node.members) {
    if (name !== 'user') report('rules-key-unknown', `the engine refuses a file with the key "${name}" here`, at);
    else if (isGiven(name, value, report)) user = readText(name, value, report);
  }
  return user;
}

const COLUMN_KEYS = ['name', 'allow', 'mask', 'mask_environment'];

export function readColumns(node: JsonNode, report: ReportFinding): ForeignColumn[] {
  if (node.kind !== 'array') {
    report('rules-wrong-type', `"columns" must be a list, not ${describeValue(node)}`, node.at);
    return [];
  }
  const columns: ForeignColumn[] = [];
  const seenNames = new Set<string>();
  for (const item of node.items) {
    if (item.kind !== 'object') {
      report('rules-wrong-type', `a column must be an object, not ${describeValue(item)}`, item.at);
      continue;
    }
    const parsedColumn = readColumn(item, report);
    if (parsedColumn === null) continue;
    const { name, ...column } = parsedColumn;
    if (seenNames.has(name.text))
      report('rules-column-repeated', `the column "${name.text}" stands twice: the engine refuses the file`, name.at);
    seenNames.add(name.text);
    columns.push({ name: name.text, ...column });
  }
  return columns;
}

function readColumn(
  column: JsonNode & { kind: 'object' },
  report: ReportFinding,
): (Omit<ForeignColumn, 'name'> & { name: { text: string; at: number } }) | null {
  const nodeByKey = new Map<string, JsonNode>();
  for (const { key, at, value } of column.members) {
    if (COLUMN_KEYS.includes(key)) nodeByKey.set(key, value);
    else report('rules-key-unknown', `the engine refuses a file with the key "${key}" in a column`, at);
  }
  const [allow, mask, environment] = [nodeByKey.get('allow'), nodeByKey.get('mask'), nodeByKey.get('mask_environment')];
  const isAllowed = !isGiven('allow', allow, report) || readBoolean('allow', allow, true, report) !== false;
  const text = isGiven('mask', mask, report) ? readExpression('mask', mask, report) : null;
  const runsAs = isGiven('mask_environment', environment, report)
    ? readEnvironment('mask_environment', environment, report)
    : null;
  const name = readName(nodeByKey.get('name'), column.at, report);
  if (name === null) return null;
  return { name, allow: isAllowed, mask: text === null ? null : { text, runsAs } };
}

function readName(node: JsonNode | undefined, at: number, report: ReportFinding): { text: string; at: number } | null {
  if (node === undefined || node.kind === 'null') {
    report('rules-value-missing', '"name" is missing in a column: the engine refuses the file', node?.at ?? at);
    return null;
  }
  const text = readText('name', node, report);
  if (text === null) return null;
  if (text === '') report('rules-text-empty', '"name" is empty: no column has that name', node.at);
  if (text !== text.toLowerCase()) {
    const message = `the engine's column names are lower-case: "${text}" never matches, so this column is neither hidden nor masked`;
    report('rules-column-case', message, node.at);
  }
  return { text, at: node.at };
}
