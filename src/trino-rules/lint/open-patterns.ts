import type { Finding } from '../document/finding.js';
import type { PatternCache } from '../document/pattern-cache.js';
import { MARKER_PREFIX, patternOf, RULE_PATTERNS, type RulesDocument, ruleText } from '../document/rules-document.js';
import { sparseMembers } from '../engine/sparse-bitset.js';
import type { UserUniverse } from '../engine/user-universe.js';
import { createHash } from 'node:crypto';

/** Findings about most patterns such as `a.*`, because the proof does not evaluate all names that they match. */
export function openPatternFindings(rules: RulesDocument, patterns: PatternCache, users: UserUniverse): Finding[] {
  return RULE_PATTERNS.flatMap(([section, ...keys]) =>
    rules[section].flatMap((rule, index) =>
      keys.flatMap((key): Finding[] => {
        const pattern = patternOf(rule, key);
        const language = patterns.language(pattern);
        const isNameList = language.kind !== 'open' || (key === 'table' && language.companions !== null);
        const isComplete = USER_KEYS.has(key) ? users.isCompleteFor(pattern) : isNameList;
        if (isComplete || (section === 'system_session_properties' && isMarkerDenial(rule, index))) return [];
        const rulePath = `${section}[${index}]`;
        const reason = pattern?.includes('.*') === true ? 'holds .*' : 'means more names than can be listed';
        const message = `the ${key} of rule ${rulePath} ${reason}, so that nothing can be proved`;
        return [{ code: 'proof-undecided', severity: 'error', message, rule: rulePath, witness: ruleText(rule) }];
      }),
    ),
  );
}

const USER_KEYS: ReadonlySet<string> = new Set(['user', 'queryOwner', 'original_user', 'new_user']);

/** Whether this is the rule `MARKER_DENIAL`, always the second one. No other rule may have an open pattern (`.*`). */
function isMarkerDenial(rule: object, index: number): boolean {
  return index === 1 && JSON.stringify(rule) === JSON.stringify(MARKER_DENIAL);
}

const MARKER_DENIAL = { property: `${MARKER_PREFIX}.*`, allow: false };

/** Checks the marker: the rule that names the version's hash. With a wrong marker, the service would report a wrong live version. */
export function checkMarker(text: string, rules: RulesDocument, ownAccount: string, universe: UserUniverse): Finding[] {
  const [marker, denial, ...others] = rules.system_session_properties;
  const markerFields = marker && { rule: MARKER_PLACE, witness: ruleText(marker) };
  const wrongMarkerFinding = (message: string): Finding[] => [
    { code: 'marker-wrong', severity: 'error', message, ...markerFields },
  ];
  const statedHash =
    marker?.property?.startsWith(MARKER_PREFIX) === true ? marker.property.slice(MARKER_PREFIX.length) : null;
  if (!marker?.allow || statedHash === null || denial === undefined || !isMarkerDenial(denial, 1))
    return wrongMarkerFinding(
      `the session properties do not begin with the marker of this version and the denial of all others`,
    );
  if (others.some(({ property }) => property?.startsWith(MARKER_PREFIX)))
    return wrongMarkerFinding('there is more than one marker of a version');
  if (!matchesOnly(universe, marker.user, ownAccount))
    return wrongMarkerFinding(`the marker must belong to ${ownAccount} and to nobody else`);
  const markerLines = `\n${JSON.stringify(marker)},\n${JSON.stringify(denial)},`;
  const textParts = text.split(markerLines);
  const unmarkedTextHash = createHash('sha256');
  for (const textPart of textParts) unmarkedTextHash.update(textPart, 'utf8');
  const actualHash = unmarkedTextHash.digest('hex');
  if (textParts.length === 2 && actualHash === statedHash) return [];
  return wrongMarkerFinding(`the marker names ${statedHash}, but the rules beside it have the SHA-256 ${actualHash}`);
}

const MARKER_PLACE = 'system_session_properties[0]';

function matchesOnly(users: UserUniverse, pattern: string | undefined, name: string): boolean {
  const [positions, matchingPositions] = [users.positionsOf(name), sparseMembers(users.usersMatching(pattern))];
  return positions.length === 1 && matchingPositions.length === 1 && matchingPositions[0] === positions[0];
}
