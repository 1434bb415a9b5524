import type { SystemSessionPropertyRule } from '../document/rules-document.js';
import { anyOf } from './name-pattern.js';

/**
 * Grantline's own `SET SESSION grantline_rules_<hash>` is answered INVALID_SESSION_PROPERTY exactly when this version is in
 * force, and PERMISSION_DENIED when another is (seen on 483). The marker grants nothing: there is no such property.
 */
export function markerRules(ownAccount: string, hash: string): SystemSessionPropertyRule[] {
  return [
    { user: anyOf([ownAccount]), property: `grantline_rules_${hash}`, allow: true },
    { property: 'grantline_rules_.*', allow: false },
  ];
}
