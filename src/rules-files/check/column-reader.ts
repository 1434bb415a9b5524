import type { JsonNode } from '../../kernel/json-reader.js';
import { readEnvironment, readExpression } from './expression-reader.js';
import type { ForeignColumn } from './foreign-rules.js';
import type { Report } from './placed-finding.js';
import { booleanOf, describeValue, isGiven, textOf } from './values.js';

const KEYS = ['name', 'allow', 'mask', 'mask_environment'];

/** The columns of a table rule, whose names the engine compares as they are written. */
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
