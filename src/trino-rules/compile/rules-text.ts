import { createHash } from 'node:crypto';
import type { RulesDocument } from '../document/rules-document.js';
import { patternOfNames } from './name-pattern.js';

/** The sections of a rules file, and the keys of their rules, in the engine's order. */
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
 * The text of a document: sections and keys in the engine's order, one rule a line. An empty `system_information` is left out. Other empty
 * sections are written, because if one of them is absent, the engine allows access that an empty section denies (Trino 483).
 */
export function rulesText(document: RulesDocument): string {
  return [...linesOf(document)].join('');
}

/** SHA-256 of the text, in hexadecimal. Computed line by line, because the text can have 60 MB. */
export function rulesHash(document: RulesDocument): string {
  const hash = createHash('sha256');
  for (const line of linesOf(document)) hash.update(line, 'utf8');
  return hash.digest('hex');
}

function* linesOf(document: RulesDocument): Iterable<string> {
  let prefix = '{\n';
  for (const [section, keys] of Object.entries(SECTIONS)) {
    const rules = document[section as keyof RulesDocument];
    if (rules.length === 0 && section === 'system_information') continue;
    yield `${prefix}"${section}":[`;
    for (const [i, rule] of rules.entries()) yield `${i === 0 ? '' : ','}\n${JSON.stringify(rule, [...keys])}`;
    prefix = '],\n';
  }
  yield ']\n}\n';
}

/**
 * Adds rules that mark the version. The engine answers `SET SESSION grantline_rules_<hash>` of the own account with
 * INVALID_SESSION_PROPERTY if this version is in force, else with PERMISSION_DENIED (seen on 483). The property does not exist, so the
 * marker gives no access. `hash` is the SHA-256 of the text without the marker.
 */
export function withMarker(
  ownAccount: string,
  unmarkedRules: RulesDocument,
): { document: RulesDocument; text: string; hash: string } {
  const hash = rulesHash(unmarkedRules);
  const markerRules = [
    { user: patternOfNames([ownAccount]), property: `grantline_rules_${hash}`, allow: true },
    { property: 'grantline_rules_.*', allow: false },
  ];
  const properties = [...markerRules, ...unmarkedRules.system_session_properties];
  const document = { ...unmarkedRules, system_session_properties: properties };
  return { document, text: rulesText(document), hash };
}
