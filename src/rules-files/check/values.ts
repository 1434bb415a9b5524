import type { JsonNode } from '../../kernel/json-reader.js';
import type { Report } from './placed-finding.js';

/** `a list`, `the number 5`, `"yes"`: a value in a message. */
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

/** Neither absent nor null. */
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

/** A number as `Double.toString` and `BigInteger.toString` of Java write it: 1.50 is `1.5`, and 1e2 is `100.0`. */
function numberText(written: string): string {
  if (/^-?[0-9]+$/.test(written)) return BigInt(written).toString();
  const value = Number(written);
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return String(value);
  if (size === 0) return Object.is(value, 0) ? '0.0' : '-0.0';
  if (size >= 1e-3 && size < 1e7) return Number.isInteger(value) ? `${value}.0` : String(value);
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  return `${digits.includes('.') ? digits : `${digits}.0`}E${exponent.replace('+', '')}`;
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
export function wordOf(
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
