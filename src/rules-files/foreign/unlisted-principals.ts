import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { ForeignPattern, ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { groupPattern, isJudged, type ListedUser, userPattern } from './audiences.js';

/** Names that a list has not, and the first rule that gives them something. */
export interface UnlistedPrincipals {
  names: string[];
  /** Null: there are none. */
  rule: ForeignRule | null;
}

/** Sections of which no right of a user's is made here. */
const OF_NO_RIGHT: ReadonlySet<string> = new Set(['authorization', 'principals']);

/** Users whom rules spell out and give something, and whom a list has not. */
export function unlistedUsers(
  rules: ForeignRules,
  users: readonly ListedUser[],
  patterns: PatternCache,
): UnlistedPrincipals {
  return unlisted(rules, new Set(users.map(({ name }) => name)), userPattern, patterns);
}

/** Groups that rules spell out and give something, and that nobody of a list is in. */
export function unlistedGroups(
  rules: ForeignRules,
  users: readonly ListedUser[],
  patterns: PatternCache,
): UnlistedPrincipals {
  return unlisted(rules, new Set(users.flatMap(({ groups }) => groups)), groupPattern, patterns);
}

function unlisted(
  rules: ForeignRules,
  listed: ReadonlySet<string>,
  patternOf: (rule: ForeignRule) => ForeignPattern | undefined,
  patterns: PatternCache,
): UnlistedPrincipals {
  const found = new Set<string>();
  let first: ForeignRule | null = null;
  for (const rule of [...rules.values()].flat()) {
    if (OF_NO_RIGHT.has(rule.section) || !givesSomething(rule)) continue;
    const missing = spelledOut(patternOf(rule)?.text, patterns).filter((name) => !listed.has(name));
    for (const name of missing) found.add(name);
    if (missing.length > 0) first ??= rule;
  }
  return { names: [...found].sort(), rule: first };
}

function givesSomething({ gives }: ForeignRule): boolean {
  return gives.some((right) => right !== 'none' && right !== 'false');
}

/** The names of an alternation and the like; a pattern of more names than its text has room for is about a kind of name. */
function spelledOut(text: string | undefined, patterns: PatternCache): string[] {
  if (text === undefined || !isJudged(text)) return [];
  const language = patterns.language(text);
  return language.kind === 'names' && 2 * language.names.size <= text.length + 1 ? [...language.names] : [];
}
