import { createHash } from 'node:crypto';
import type { Finding } from '../document/finding.js';
import { MARKER, ruleText, type RulesDocument } from '../document/rules-document.js';
import type { UserUniverse } from '../engine/user-universe.js';

/** The denial of all other markers, right behind the marker: the only rule that may have an open pattern. */
export function isMarkerDenial(rule: object, index: number): boolean {
  return index === 1 && JSON.stringify(rule) === JSON.stringify(DENIAL);
}

const DENIAL = { property: `${MARKER}.*`, allow: false };

/**
 * The marker must come first, belong to Grantline's own account alone, and name the SHA-256 of the text without both its rules:
 * a missing, foreign or constant marker would let the live probe report the wrong version.
 */
export function checkMarker(text: string, rules: RulesDocument, ownAccount: string, users: UserUniverse): Finding[] {
  const [marker, denial, ...others] = rules.system_session_properties;
  const wrong = (message: string): Finding[] => [
    { code: 'marker-wrong', severity: 'error', message, ...(marker && { rule: AT, witness: ruleText(marker) }) },
  ];
  const hash = marker?.property?.startsWith(MARKER) === true ? marker.property.slice(MARKER.length) : null;
  if (marker === undefined || hash === null || !marker.allow || denial === undefined || !isMarkerDenial(denial, 1))
    return wrong(`the session properties do not begin with the marker of this version and the denial of all others`);
  if (others.some(({ property }) => property?.startsWith(MARKER)))
    return wrong('there is more than one marker of a version');
  if (!isOnly(users, marker.user, ownAccount))
    return wrong(`the marker must belong to ${ownAccount} and to nobody else`);
  const lines = `\n${JSON.stringify(marker)},\n${JSON.stringify(denial)},`;
  const parts = text.split(lines);
  const whole = createHash('sha256');
  for (const part of parts) whole.update(part, 'utf8');
  const digest = whole.digest('hex');
  if (parts.length === 2 && digest === hash) return [];
  return wrong(`the marker names ${hash}, but the rules beside it have the SHA-256 ${digest}`);
}

const AT = 'system_session_properties[0]';

function isOnly(users: UserUniverse, pattern: string | undefined, name: string): boolean {
  const { at, words } = users.matching(pattern);
  const positions = users.named(name);
  const [position = -1] = positions;
  return (
    positions.length === 1 && at.length === 1 && at[0] === position >>> 5 && words[0] === (1 << (position & 31)) >>> 0
  );
}
