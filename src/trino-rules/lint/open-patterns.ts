import type { Finding } from '../document/finding.js';
import type { PatternCache } from '../document/pattern-cache.js';
import { MARKER, patternOf, RULE_PATTERNS, type RulesDocument, ruleText } from '../document/rules-document.js';
import type { UserUniverse } from '../engine/user-universe.js';
import { createHash } from 'node:crypto';

/**
 * Checks what the proof relies on: each pattern is absent or a complete list of names, for tables also with companions. Any other pattern
 * (`.*`, `a.*`, too many names) matches names that the proof does not evaluate. Only the marker's denial is exempt.
 */
export function openPatterns(rules: RulesDocument, patterns: PatternCache, users: UserUniverse): Finding[] {
  return RULE_PATTERNS.flatMap(([section, ...keys]) =>
    rules[section].flatMap((rule, index) =>
      keys.flatMap((key): Finding[] => {
        const pattern = patternOf(rule, key);
        const language = patterns.language(pattern);
        const isListed = language.kind !== 'open' || (key === 'table' && language.companions !== null);
        const isClosed = USER_KEYS.has(key) ? users.isComplete(pattern) : isListed;
        if (isClosed || (section === 'system_session_properties' && isMarkerDenial(rule, index))) return [];
        const at = `${section}[${index}]`;
        const why = pattern?.includes('.*') === true ? 'holds .*' : 'means more names than can be listed';
        const message = `the ${key} of rule ${at} ${why}, so that nothing can be proved`;
        return [{ code: 'proof-undecided', severity: 'error', message, rule: at, witness: ruleText(rule) }];
      }),
    ),
  );
}

const USER_KEYS: ReadonlySet<string> = new Set(['user', 'queryOwner', 'original_user', 'new_user']);

/** The denial of all other markers, directly behind the marker: the only rule with an open pattern. */
function isMarkerDenial(rule: object, index: number): boolean {
  return index === 1 && JSON.stringify(rule) === JSON.stringify(DENIAL);
}

const DENIAL = { property: `${MARKER}.*`, allow: false };

/**
 * The marker must come first, be for Grantline's own account only, and have the SHA-256 of the text without its two rules. With another
 * one the live probe would report a wrong version.
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
