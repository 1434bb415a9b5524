import { getOrInsert } from '../compile/get-or-insert.js';

/** JSON with maps instead of objects, so that names such as `__proto__` are ordinary keys. */
export type Json = string | number | boolean | readonly Json[] | JsonTree;
export type JsonTree = Map<string, Json>;

export function branchAt(tree: JsonTree, ...keys: readonly string[]): JsonTree {
  return keys.reduce<JsonTree>((node, key) => {
    const child = getOrInsert<string, Json>(node, key, () => new Map<string, Json>());
    return child instanceof Map ? child : new Map<string, Json>();
  }, tree);
}

export function flagTree(names: Iterable<string>): JsonTree {
  return new Map([...names].map((name) => [name, true]));
}

/** A JSON object of the fields that are not empty. */
export function compactRecord(fields: Readonly<Record<string, Json | undefined>>): JsonTree {
  return new Map(
    Object.entries(fields).flatMap(([key, value]) =>
      value === undefined || value === '' || value === false || (value instanceof Map && value.size === 0)
        ? []
        : [[key, value] as const],
    ),
  );
}

/**
 * JSON as Go writes it for the digests of a bundle: keys in the order of their UTF-8 bytes, no blanks, U+2028 and U+2029 escaped. OPA
 * refuses a bundle with digests of any other text (seen on 1.22).
 */
export function canonicalJson(value: Json): string {
  if (value instanceof Map) {
    const keys = [...value.keys()].sort(compareCodePoints);
    return `{${keys.map((key) => `${quotedText(key)}:${canonicalJson(value.get(key) ?? '')}`).join(',')}}`;
  }
  if (typeof value === 'object') return `[${value.map(canonicalJson).join(',')}]`;
  return typeof value === 'string' ? quotedText(value) : JSON.stringify(value);
}

function quotedText(text: string): string {
  return JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** Orders texts by code points, like UTF-8. In UTF-16, surrogates would come before U+E000 to U+FFFF. */
function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let index = 0;
  while (index < length && a.charCodeAt(index) === b.charCodeAt(index)) index++;
  return index === length ? a.length - b.length : sortRankOf(a.charCodeAt(index)) - sortRankOf(b.charCodeAt(index));
}

function sortRankOf(codeUnit: number): number {
  return codeUnit >= 0xe000 ? codeUnit - 0x800 : codeUnit >= 0xd800 ? codeUnit + 0x2000 : codeUnit;
}
