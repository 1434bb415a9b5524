import { createHash } from 'node:crypto';
import type { RulesDocument } from '../document/rules-document.js';

/** The engine's order of keys; a rule is written in this order, whatever order it was made in. */
const SECTIONS: Record<keyof RulesDocument, readonly string[]> = {
  catalogs: ['user', 'catalog', 'allow'],
  schemas: ['user', 'catalog', 'schema', 'owner'],
  tables: ['user', 'catalog', 'schema', 'table', 'privileges', 'columns', 'filter', 'name', 'allow', 'mask'],
  queries: ['user', 'queryOwner', 'allow'],
  impersonation: ['original_user', 'new_user', 'allow'],
  functions: ['user', 'catalog', 'schema', 'function', 'privileges'],
  procedures: ['user', 'catalog', 'schema', 'procedure', 'privileges'],
  system_information: ['user', 'allow'],
  system_session_properties: ['user', 'property', 'allow'],
  catalog_session_properties: ['user', 'catalog', 'property', 'allow'],
};

/**
 * The canonical text: sections and keys in the engine's order, one rule a line, so that a diff reads well. Without rules,
 * `system_information` is left out: absent it is closed, unlike the others (Trino 483).
 */
export function rulesText(document: RulesDocument): string {
  const sections = Object.entries(SECTIONS).flatMap(([section, keys]) => {
    const rules = document[section as keyof RulesDocument].map((rule) => `\n${JSON.stringify(rule, [...keys])}`);
    if (rules.length === 0 && section === 'system_information') return [];
    return [`"${section}":[${rules.join(',')}]`];
  });
  return `{\n${sections.join(',\n')}\n}\n`;
}

/** What a version is known by: SHA-256 over the text, in hexadecimal. */
export function rulesHash(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
