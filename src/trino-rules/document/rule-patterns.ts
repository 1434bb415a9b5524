import type { RulesDocument } from './rules-document.js';

/** The pattern keys of each section's rules: users first, then objects, from the widest level down. */
export const RULE_PATTERNS: readonly (readonly [section: keyof RulesDocument, ...keys: string[]])[] = [
  ['catalogs', 'user', 'catalog'],
  ['schemas', 'user', 'catalog', 'schema'],
  ['tables', 'user', 'catalog', 'schema', 'table'],
  ['queries', 'user'],
  ['impersonation', 'original_user', 'new_user'],
  ['functions', 'user', 'catalog', 'schema', 'function'],
  ['procedures', 'user', 'catalog', 'schema', 'procedure'],
  ['system_session_properties', 'user', 'property'],
  ['catalog_session_properties', 'user', 'catalog', 'property'],
];

/** A rule's pattern; undefined means any name. */
export function patternOf(rule: object, key: string): string | undefined {
  const value: unknown = Reflect.get(rule, key);
  return typeof value === 'string' ? value : undefined;
}
