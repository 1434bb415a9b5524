import {
  type ForeignRule,
  type ForeignRules,
  givesSomething,
  groupPattern,
  NO_USER_PATTERN,
  rolePattern,
  userPattern,
} from '../check/foreign-rules.js';
import { patternOfNames } from '../../trino-rules/compile/name-pattern.js';
import { selectivePattern, languageOf, parseRegular } from '../check/foreign-language.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { readPattern } from '../../trino-rules/document/pattern.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';

/** A user as the engine knows it, with the groups that its group provider gives it. */
export interface ListedUser {
  name: string;
  groups: readonly string[];
  /** True: marked as a program, which has no account and can impersonate users. False: marked as a person. Absent: not marked. */
  isEngine?: boolean;
  /** The user's real name, if this entry lists the user a second time, in other groups and under an invented name. */
  realName?: string;
}

/** The active accounts in their recorded groups. */
export function recordedUsers({ users, groups }: Pick<Snapshot, 'users' | 'groups'>): ListedUser[] {
  const groupsByUser = new Map<number, string[]>();
  for (const { name, members } of groups) for (const id of members) getOrInsert(groupsByUser, id, () => []).push(name);
  return users.filter(({ isActive }) => isActive).map(({ id, name }) => ({ name, groups: groupsByUser.get(id) ?? [] }));
}

/** The users whom a rule matches, or may match where a pattern cannot be judged. */
export interface Audience {
  /** A pattern of users; undefined: every user, null: no user. */
  user: string | undefined | null;
  canBeJudged: boolean;
}

/** Finds the users whom rules match. */
export interface Audiences {
  /** A pattern that matches all users for whom the file is read; undefined: the file is read for all users. */
  readonly everybodyPattern: string | undefined;
  audience(rule: ForeignRule): Audience;
  /** Names of the users whom a rule matches; null: no list of users is given, so they are unknown. */
  namesOf(rule: ForeignRule): string[] | null;
}

/** The most names of a pattern that is treated as a list of names. A pattern with more names is treated like one with `.*`. */
const MAX_EXPANDED_NAMES = 20_000;

/** A cache for patterns of any file. Use it only for patterns for which `canBeJudged` is true. */
export function newPatternCache(budget: WorkBudget): PatternCache {
  const parsePattern = (text: string) => {
    const reading = readPattern(text);
    return reading.kind === 'pattern' ? reading.pattern : parseRegular(text);
  };
  return new PatternCache(budget, parsePattern, () => MAX_EXPANDED_NAMES);
}

/** Whether the names that a pattern matches can be known. False for a look-behind or the like. */
export function canBeJudged(text: string | undefined): boolean {
  return languageOf(text).kind !== 'opaque';
}

export function unjudgedMessage(field: string, text: string): string {
  return `the names that the ${field} ${JSON.stringify(text)} matches cannot be told`;
}

export function firstRuleForGroups(rules: ForeignRules): ForeignRule | undefined {
  return [...rules.values()].flat().find((rule) => groupPattern(rule) !== undefined);
}

/** Reads a file without a list of users: the users of a rule are all names that its user pattern matches. Only for files without rules for groups. */
export const ALL_USERS: Audiences = {
  everybodyPattern: undefined,
  audience(rule) {
    const user = rolePattern(rule) !== undefined ? null : userPattern(rule)?.text;
    return { user: user === null ? null : selectivePattern('user', user), canBeJudged: canBeJudged(user ?? undefined) };
  },
  namesOf: () => null,
};

/** Reads a file for one user. A rule for other users gets a pattern that matches nobody. */
export class SingleUserAudiences implements Audiences {
  readonly everybodyPattern = undefined;
  private readonly userAsList: ListedUsers;

  /** @param groups the user's groups; null: not known */
  constructor(
    readonly name: string,
    private readonly groups: readonly string[] | null,
    patterns: PatternCache,
  ) {
    this.userAsList = new ListedUsers([{ name, groups: groups ?? [] }], patterns);
  }

  audience(rule: ForeignRule): Audience {
    const areGroupsKnown = this.groups !== null || groupPattern(rule) === undefined;
    const canBeJudged = areGroupsKnown && this.userAsList.canBeJudged(rule);
    return { user: this.mayMatch(rule) ? undefined : NO_USER_PATTERN, canBeJudged };
  }

  namesOf(rule: ForeignRule): string[] {
    return this.mayMatch(rule) ? [this.name] : [];
  }

  private mayMatch(rule: ForeignRule): boolean {
    if (this.groups !== null) return this.userAsList.namesOf(rule).length > 0;
    return rolePattern(rule) === undefined && this.userAsList.matcherOf(userPattern(rule)?.text)(this.name);
  }
}

/** Users of a list, matched as the engine does: by name, by any of their groups, and never by a role. */
export class ListedUsers implements Audiences {
  readonly everybodyPattern: string;

  constructor(
    readonly users: readonly ListedUser[],
    private readonly patterns: PatternCache,
  ) {
    this.everybodyPattern = users.length === 0 ? NO_USER_PATTERN : patternOfNames(users.map(({ name }) => name));
  }

  audience(rule: ForeignRule): Audience {
    const names = this.namesOf(rule);
    return { user: names.length === 0 ? null : patternOfNames(names), canBeJudged: this.canBeJudged(rule) };
  }

  canBeJudged(rule: ForeignRule): boolean {
    return canBeJudged(userPattern(rule)?.text) && canBeJudged(groupPattern(rule)?.text);
  }

  namesOf(rule: ForeignRule): string[] {
    if (rolePattern(rule) !== undefined) return [];
    const matchesUser = this.matcherOf(userPattern(rule)?.text);
    const matchesGroup = this.matcherOf(groupPattern(rule)?.text);
    const isForAll = groupPattern(rule) === undefined;
    return this.users
      .filter(({ name, realName = name, groups }) => matchesUser(realName) && (isForAll || groups.some(matchesGroup)))
      .map(({ name }) => name);
  }

  /** Whether a pattern matches a name; also true where the pattern cannot be judged. */
  matcherOf(pattern: string | undefined): (name: string) => boolean {
    // The pattern is judged once, not for each name, because reading a long pattern takes longer than matching a name.
    if (!canBeJudged(pattern)) return () => true;
    return (name) => this.patterns.matches(pattern, name);
  }
}

const SECTIONS_WITHOUT_RIGHTS: ReadonlySet<string> = new Set(['authorization', 'principals']);

/** Names of users or groups that occur in rules with rights, but not in the list. `rule`: the first rule with such a name. */
export function unlistedPrincipals(
  type: 'users' | 'groups',
  rules: ForeignRules,
  users: readonly ListedUser[],
  patterns: PatternCache,
): { names: string[]; rule: ForeignRule | null } {
  const listedNames = new Set(users.flatMap(({ name, groups }) => (type === 'users' ? name : groups)));
  const patternOf = type === 'users' ? userPattern : groupPattern;
  const unlistedNames = new Set<string>();
  let firstRule: ForeignRule | null = null;
  for (const rule of [...rules.values()].flat()) {
    if (SECTIONS_WITHOUT_RIGHTS.has(rule.section) || !givesSomething(rule)) continue;
    const missingNames = spelledOutNames(patternOf(rule)?.text, patterns).filter((name) => !listedNames.has(name));
    for (const name of missingNames) unlistedNames.add(name);
    if (missingNames.length > 0) firstRule ??= rule;
  }
  return { names: [...unlistedNames].sort(), rule: firstRule };
}

/** The names that a pattern lists, such as `a|b`. Usually empty for other patterns, such as `[a-z]{9}`. */
function spelledOutNames(text: string | undefined, patterns: PatternCache): string[] {
  if (text === undefined || !canBeJudged(text)) return [];
  const language = patterns.language(text);
  return language.kind === 'names' && 2 * language.names.size <= text.length + 1 ? [...language.names] : [];
}
