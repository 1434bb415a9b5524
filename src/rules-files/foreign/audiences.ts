import {
  type ForeignRule,
  type ForeignRules,
  givesSomething,
  groupPattern,
  rolePattern,
  userPattern,
} from '../check/foreign-rules.js';
import { anyOf } from '../../trino-rules/compile/name-pattern.js';
import { anyName, languageOf, regularPattern } from '../check/foreign-language.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { readPattern } from '../../trino-rules/document/pattern.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';

/** A user as the engine knows it, with the groups that its group provider gives it. */
export interface ListedUser {
  name: string;
  groups: readonly string[];
  /** True: a program, which has no account and can impersonate. False: a person. Absent: the rules show which. */
  isEngine?: boolean;
  /** The name that patterns of users match, if the listed name is an alias of a user in other groups. */
  knownAs?: string;
}

/** The active accounts in their recorded groups. */
export function recordedUsers({ users, groups }: Pick<Snapshot, 'users' | 'groups'>): ListedUser[] {
  const groupsOf = new Map<number, string[]>();
  for (const { name, members } of groups) for (const id of members) getOrInsert(groupsOf, id, () => []).push(name);
  return users.filter(({ isActive }) => isActive).map(({ id, name }) => ({ name, groups: groupsOf.get(id) ?? [] }));
}

/** The users of a rule; where a pattern cannot be judged, all users that it may match. */
export interface Audience {
  /** A pattern of users: undefined matches every user, null none. */
  user: string | undefined | null;
  canBeJudged: boolean;
}

export interface Audiences {
  /** A pattern of all users for whom the file is read. */
  readonly everybody: string | undefined;
  audience(rule: ForeignRule): Audience;
  /** Names of the users of a rule; null: users are not listed. */
  namesOf(rule: ForeignRule): string[] | null;
}

/** A pattern that matches more names is treated as one with `.*`. */
const MAX_NAMES = 20_000;

/** A cache for patterns of any file. Patterns that cannot be judged are never looked up. */
export function foreignPatterns(budget: WorkBudget): PatternCache {
  const read = (text: string) => {
    const common = readPattern(text);
    return common.kind === 'pattern' ? common.pattern : regularPattern(text);
  };
  return new PatternCache(budget, read, () => MAX_NAMES);
}

/** False: the pattern has a look-behind or the like, so the names that it matches are not known. */
export function canBeJudged(text: string | undefined): boolean {
  return languageOf(text).kind !== 'opaque';
}

export function notJudgedText(field: string, text: string): string {
  return `the names that the ${field} ${JSON.stringify(text)} matches cannot be told`;
}

export function ruleForGroups(rules: ForeignRules): ForeignRule | undefined {
  return [...rules.values()].flat().find((rule) => groupPattern(rule) !== undefined);
}

/** Any user, for files without rules for groups. */
export const ANYBODY: Audiences = {
  everybody: undefined,
  audience(rule) {
    const user = rolePattern(rule) !== undefined ? null : userPattern(rule)?.text;
    return { user: user === null ? null : anyName('user', user), canBeJudged: canBeJudged(user ?? undefined) };
  },
  namesOf: () => null,
};

/** A control character, which is in no name. */
const NOBODY = '\u0001';

/** Finds the rules that match one user. All other rules keep their positions and match nobody. */
export class AskedUser implements Audiences {
  readonly everybody = undefined;
  private readonly listed: ListedUsers;

  /** @param groups null: they are not known */
  constructor(
    readonly name: string,
    private readonly groups: readonly string[] | null,
    patterns: PatternCache,
  ) {
    this.listed = new ListedUsers([{ name, groups: groups ?? [] }], patterns);
  }

  audience(rule: ForeignRule): Audience {
    const isKnown = this.groups !== null || groupPattern(rule) === undefined;
    const canBeJudged = isKnown && this.listed.canBeJudged(rule);
    return { user: this.mayMatch(rule) ? undefined : NOBODY, canBeJudged };
  }

  namesOf(rule: ForeignRule): string[] {
    return this.mayMatch(rule) ? [this.name] : [];
  }

  private mayMatch(rule: ForeignRule): boolean {
    if (this.groups !== null) return this.listed.namesOf(rule).length > 0;
    return rolePattern(rule) === undefined && this.listed.matcherOf(userPattern(rule)?.text)(this.name);
  }
}

/** Users of a list, matched as the engine does: by name, by any of their groups, and never by a role. */
export class ListedUsers implements Audiences {
  readonly everybody: string;

  constructor(
    readonly users: readonly ListedUser[],
    private readonly patterns: PatternCache,
  ) {
    this.everybody = users.length === 0 ? NOBODY : anyOf(users.map(({ name }) => name));
  }

  audience(rule: ForeignRule): Audience {
    const names = this.namesOf(rule);
    return { user: names.length === 0 ? null : anyOf(names), canBeJudged: this.canBeJudged(rule) };
  }

  canBeJudged(rule: ForeignRule): boolean {
    return canBeJudged(userPattern(rule)?.text) && canBeJudged(groupPattern(rule)?.text);
  }

  namesOf(rule: ForeignRule): string[] {
    if (rolePattern(rule) !== undefined) return [];
    const [isUser, isGroup] = [this.matcherOf(userPattern(rule)?.text), this.matcherOf(groupPattern(rule)?.text)];
    const isForAnyGroups = groupPattern(rule) === undefined;
    return this.users
      .filter(({ name, knownAs = name, groups }) => isUser(knownAs) && (isForAnyGroups || groups.some(isGroup)))
      .map(({ name }) => name);
  }

  /** Whether a pattern matches a name; also true where the pattern cannot be judged. */
  matcherOf(pattern: string | undefined): (name: string) => boolean {
    // Reading a long pattern takes longer than matching it.
    if (!canBeJudged(pattern)) return () => true;
    return (name) => this.patterns.matches(pattern, name);
  }
}

/** Sections that give no rights to their users. */
const OF_NO_RIGHT: ReadonlySet<string> = new Set(['authorization', 'principals']);

/** Users or groups that rules spell out and give something, and that a list lacks, and the first such rule. */
export function unlistedPrincipals(
  type: 'users' | 'groups',
  rules: ForeignRules,
  users: readonly ListedUser[],
  patterns: PatternCache,
): { names: string[]; rule: ForeignRule | null } {
  const listed = new Set(users.flatMap(({ name, groups }) => (type === 'users' ? name : groups)));
  const patternOf = type === 'users' ? userPattern : groupPattern;
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

/** The names that a pattern lists, as `a|b` does; none if it has more names than its text can spell out. */
function spelledOut(text: string | undefined, patterns: PatternCache): string[] {
  if (text === undefined || !canBeJudged(text)) return [];
  const language = patterns.language(text);
  return language.kind === 'names' && 2 * language.names.size <= text.length + 1 ? [...language.names] : [];
}
