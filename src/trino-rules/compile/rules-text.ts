import { createHash } from 'node:crypto';
import type { RulesDocument } from '../document/rules-document.js';
import { anyOf } from './name-pattern.js';

/** The sections and their keys in the engine's order, in which rules are written. */
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
 * The canonical text: sections and keys in the engine's order, one rule a line. An empty `system_information` is left out: unlike the
 * other sections it is closed when absent (Trino 483).
 */
export function rulesText(document: RulesDocument): string {
  return [...linesOf(document)].join('');
}

/** SHA-256 over the text, in hexadecimal. Computed line by line, because the text can have 60 MB. */
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

/**
 * Adds the marker of the version. Grantline's own `SET SESSION grantline_rules_<hash>` is answered INVALID_SESSION_PROPERTY exactly
 * when this version is in force, else PERMISSION_DENIED (seen on 483). There is no such property, so the marker grants nothing.
 * @returns hash: SHA-256 over the text without the marker
 */
export function marked(
  ownAccount: string,
  unmarked: RulesDocument,
): { document: RulesDocument; text: string; hash: string } {
  const hash = rulesHash(unmarked);
  const marker = [
    { user: anyOf([ownAccount]), property: `grantline_rules_${hash}`, allow: true },
    { property: 'grantline_rules_.*', allow: false },
  ];
  const document = { ...unmarked, system_session_properties: [...marker, ...unmarked.system_session_properties] };
  return { document, text: rulesText(document), hash };
}
