import type { Finding } from '../document/finding.js';
import type { PatternCache, PatternLanguage } from '../document/pattern-cache.js';
import { patternOf, RULE_PATTERNS, ruleText, type RulesDocument } from '../document/rules-document.js';
import type { UserUniverse } from '../engine/user-universe.js';
import { isMarkerDenial } from './marker-check.js';

/**
 * The condition of the proof: each pattern is absent or a complete list of names, of tables also with their companions. Any other (`.*`, `a.*`, names too
 * many) matches names that no question asks about; only the marker's denial, at its own place, may.
 */
export function openPatterns(rules: RulesDocument, patterns: PatternCache, users: UserUniverse): Finding[] {
  return RULE_PATTERNS.flatMap(([section, ...keys]) =>
    rules[section].flatMap((rule, index) =>
      keys.flatMap((key): Finding[] => {
        const pattern = patternOf(rule, key);
        const isClosed = USER_KEYS.has(key) ? users.isComplete(pattern) : isListed(patterns.language(pattern), key);
        if (isClosed || (section === 'system_session_properties' && isMarkerDenial(rule, index))) return [];
        const at = `${section}[${index}]`;
        const why = pattern?.includes('.*') === true ? 'holds .*' : 'means more names than can be listed';
        const message = `the ${key} of rule ${at} ${why}, so that nothing can be proved`;
        return [{ code: 'proof-undecided', severity: 'error', message, rule: at, witness: ruleText(rule) }];
      }),
    ),
  );
}

function isListed(language: PatternLanguage, key: string): boolean {
  return language.kind !== 'open' || (key === 'table' && language.companions !== null);
}

const USER_KEYS: ReadonlySet<string> = new Set(['user', 'queryOwner', 'original_user', 'new_user']);
