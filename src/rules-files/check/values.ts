import type { JsonNode } from '../../kernel/json-reader.js';
import type { Report } from './checks.js';
import type { ForeignColumn } from './foreign-rules.js';

/** A value in a message: `a list`, `the number 5`, `"yes"`. */
export function describeValue(node: JsonNode): string {
  switch (node.kind) {
    case 'number':
      return `the number ${cut(node.text)}`;
    case 'string':
      return JSON.stringify(cut(node.value));
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

export function isGiven(key: string, node: JsonNode | undefined, report: Report): node is JsonNode {
  if (node?.kind === 'null') report('rules-null', `"${key}" is null, which the engine reads as absent`, node.at);
  return node !== undefined && node.kind !== 'null';
}

/** Numbers and booleans become texts. Null: the engine refuses the file. */
export function textOf(key: string, node: JsonNode, report: Report): string | null {
  if (node.kind === 'string') return node.value;
  if (node.kind !== 'number' && node.kind !== 'boolean') {
    report('rules-wrong-type', `"${key}" must be a text, not ${describeValue(node)}`, node.at);
    return null;
  }
  const text = node.kind === 'number' ? numberText(node.text) : String(node.value);
  report('rules-value-coerced', `"${key}" should be a text; the engine makes "${cut(text)}" of it`, node.at);
  return text;
}

/** A number as Java writes it: 1.50 is `1.5`, and 1e2 is `100.0`. */
function numberText(written: string): string {
  if (/^-?[0-9]+$/.test(written)) return BigInt(written).toString();
  const value = Number(written);
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** Null: the engine refuses the file. */
export function booleanOf(key: string, node: JsonNode, whenEmpty: boolean, report: Report): boolean | null {
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

/** Null: the engine refuses the file. */
export function modeOf(node: JsonNode): string | null {
  if (node.kind === 'boolean') return node.value ? 'all' : 'none';
  const mode = node.kind === 'string' ? node.value.toLowerCase() : '';
  return ['all', 'read-only', 'none', 'owner'].includes(mode) ? mode : null;
}

/**
 * One of a list's words, in any case. The engine reads a number as a place in its own enumeration.
 * Null: the engine refuses the file.
 */
export function readWord(
  key: string,
  node: JsonNode,
  words: readonly string[],
  isEnum: boolean,
  report: Report,
): string | null {
  const written =
    node.kind === 'string'
      ? isEnum
        ? node.value.trim()
        : node.value
      : node.kind === 'number'
        ? numberText(node.text)
        : '';
  const word = words.find((each) => caseless(each) === caseless(written));
  if (word !== undefined && node.kind === 'string') return word;
  const numbered = isEnum && /^(?:0|[1-9][0-9]*)$/.test(written) ? words[Number(written)] : undefined;
  if (numbered === undefined) {
    const message = `"${key}" knows ${words.join(', ')}, not ${describeValue(node)}: the engine refuses the file`;
    report(
      node.kind === 'string' || node.kind === 'number' ? 'rules-value-unknown' : 'rules-wrong-type',
      message,
      node.at,
    );
    return null;
  }
  report('rules-value-coerced', `the engine reads ${describeValue(node)} in "${key}" as ${numbered}`, node.at);
  return numbered;
}

/** As `String.equalsIgnoreCase`, which takes the long s for an s. */
function caseless(word: string): string {
  return word.toUpperCase().toLowerCase();
}

const LONGEST = 60;

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** SQL, which the engine parses when it is used. Null: the engine refuses the file. */
export function readExpression(key: string, node: JsonNode, report: Report): string | null {
  const text = textOf(key, node, report);
  if (text !== null && !/\S/.test(text)) {
    report(
      'rules-text-empty',
      `"${key}" is empty, which is no expression: every query that it concerns fails`,
      node.at,
    );
  }
  return text;
}

/** `{"user": …}`, the identity that an expression is evaluated as; null: none is given. */
export function readEnvironment(key: string, node: JsonNode, report: Report): string | null {
  if (node.kind !== 'object') {
    report('rules-wrong-type', `"${key}" must be an object, not ${describeValue(node)}`, node.at);
    return null;
  }
  let user: string | null = null;
  for (const { key: inner, at, value } of node.members) {
    if (inner !== 'user') report('rules-key-unknown', `the engine refuses a file with the key "${inner}" here`, at);
    else if (isGiven(inner, value, report)) user = textOf(inner, value, report);
  }
  return user;
}

const KEYS = ['name', 'allow', 'mask', 'mask_environment'];

/** The columns of a table rule. */
export function readColumns(node: JsonNode, report: Report): ForeignColumn[] {
  if (node.kind !== 'array') {
    report('rules-wrong-type', `"columns" must be a list, not ${describeValue(node)}`, node.at);
    return [];
  }
  const columns: ForeignColumn[] = [];
  const seen = new Set<string>();
  for (const item of node.items) {
    if (item.kind !== 'object') {
      report('rules-wrong-type', `a column must be an object, not ${describeValue(item)}`, item.at);
      continue;
    }
    const read = readColumn(item, report);
    if (read === null) continue;
    const { name, ...column } = read;
    if (seen.has(name.text))
      report('rules-column-repeated', `the column "${name.text}" stands twice: the engine refuses the file`, name.at);
    seen.add(name.text);
    columns.push({ name: name.text, ...column });
  }
  return columns;
}

function readColumn(
  column: JsonNode & { kind: 'object' },
  report: Report,
): (Omit<ForeignColumn, 'name'> & { name: { text: string; at: number } }) | null {
  const nodes = new Map<string, JsonNode>();
  for (const { key, at, value } of column.members) {
    if (KEYS.includes(key)) nodes.set(key, value);
    else report('rules-key-unknown', `the engine refuses a file with the key "${key}" in a column`, at);
  }
  const [allow, mask, environment] = [nodes.get('allow'), nodes.get('mask'), nodes.get('mask_environment')];
  const isAllowed = !isGiven('allow', allow, report) || booleanOf('allow', allow, true, report) !== false;
  const text = isGiven('mask', mask, report) ? readExpression('mask', mask, report) : null;
  const runsAs = isGiven('mask_environment', environment, report)
    ? readEnvironment('mask_environment', environment, report)
    : null;
  const name = readName(nodes.get('name'), column.at, report);
  if (name === null) return null;
  return { name, allow: isAllowed, mask: text === null ? null : { text, runsAs } };
}

function readName(node: JsonNode | undefined, at: number, report: Report): { text: string; at: number } | null {
  if (node === undefined || node.kind === 'null') {
    report('rules-value-missing', '"name" is missing in a column: the engine refuses the file', node?.at ?? at);
    return null;
  }
  const text = textOf('name', node, report);
  if (text === null) return null;
  if (text === '') report('rules-text-empty', '"name" is empty: no column has that name', node.at);
  if (text !== text.toLowerCase()) {
    const message = `the engine's column names are lower-case: "${text}" never matches, so this column is neither hidden nor masked`;
    report('rules-column-case', message, node.at);
  }
  return { text, at: node.at };
}
