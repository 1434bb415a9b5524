import type { RulesDocument } from '../document/rules-document.js';
import { anyOf } from './name-pattern.js';
import { rulesHash, rulesText } from './rules-text.js';

/**
 * The document with the marker of its version in front, its text, and the SHA-256 over the text without the marker.
 * Grantline's own `SET SESSION grantline_rules_<hash>` is answered INVALID_SESSION_PROPERTY exactly when this version is in
 * force, and PERMISSION_DENIED when another is (seen on 483). The marker grants nothing: there is no such property.
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
