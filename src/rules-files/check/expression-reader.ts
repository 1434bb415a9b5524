import type { JsonNode } from '../../kernel/json-reader.js';
import type { Report } from './placed-finding.js';
import { describeValue, isGiven, textOf } from './values.js';

/** SQL, of which the engine reads nothing before it is used. Null: the engine refuses the file. */
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
