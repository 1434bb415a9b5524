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
  return [...linesOf(document)].join('');
}

/** What a version is known by: SHA-256 over the text, in hexadecimal. The text is not put together for it: it can have 60 MB. */
export function rulesHash(document: RulesDocument): string {
  const hash = createHash('sha256');
  for (const line of linesOf(document)) hash.update(line, 'utf8');
  return hash.digest('hex');
}

function* linesOf(document: RulesDocument): Iterable<string> {
  let before = '{\n';
  for (const [section, keys] of Object.entries(SECTIONS)) {
    const rules = document[section as keyof RulesDocument];
    if (rules.length === 0 && section === 'system_information') continue;
    yield `${before}"${section}":[`;
    for (const [i, rule] of rules.entries()) yield `${i === 0 ? '' : ','}\n${JSON.stringify(rule, [...keys])}`;
    before = '],\n';
  }
  yield ']\n}\n';
}
