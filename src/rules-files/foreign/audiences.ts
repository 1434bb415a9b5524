import type { ForeignPattern, ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { anyOf } from '../../trino-rules/compile/name-pattern.js';
import { anyName, languageOf, regularPattern } from '../check/foreign-language.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { readPattern, type Pattern } from '../../trino-rules/document/pattern.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';

/** A user as the engine knows it, with the groups that its group provider gives it. */
export interface ListedUser {
  name: string;
  groups: readonly string[];
  /** True: a program, which has no account and can act as others. False: a person. Absent: what the rules take it for. */
  isEngine?: boolean;
  /** The name by which patterns of users match, where another is listed: of the same user in other groups. */
  knownAs?: string;
}

/** The active accounts, each in its recorded groups. */
export function recordedUsers({ users, groups }: Pick<Snapshot, 'users' | 'groups'>): ListedUser[] {
  const groupsOf = new Map<number, string[]>();
  for (const { name, members } of groups) for (const id of members) getOrInsert(groupsOf, id, () => []).push(name);
  return users.filter(({ isActive }) => isActive).map(({ id, name }) => ({ name, groups: groupsOf.get(id) ?? [] }));
}

/** Users that a rule is about; all of them that it may be about where one of its patterns cannot be judged. */
export interface Audience {
  /** A pattern of users: undefined matches every user, null none. */
  user: string | undefined | null;
  isJudged: boolean;
}

/** The users that the rules of a file are about. */
export interface Audiences {
  /** A pattern of all users that the file is read for. */
  readonly everybody: string | undefined;
  audience(rule: ForeignRule): Audience;
  /** The users whom a rule is about, one by one; null: they are not listed. */
  namesOf(rule: ForeignRule): string[] | null;
}

/** A pattern that matches more names is treated as one with `.*`. */
const MAX_NAMES = 20_000;

/** For patterns of any file and of Grantline's own; those that are not judged are never asked about. */
export function anyPatterns(budget: WorkBudget): PatternCache {
  return new PatternCache(budget, javaPattern, () => MAX_NAMES);
}

function javaPattern(text: string): Pattern {
  const common = readPattern(text);
  return common.kind === 'pattern' ? common.pattern : regularPattern(text);
}

/** False: it has a look-around or the like, so that the names that it matches are not known. */
export function isJudged(text: string | undefined): boolean {
  return languageOf(text).kind !== 'opaque';
}

/** The message about a pattern that is not judged. */
export function notJudged(field: string, text: string): string {
  return `the names that the ${field} ${JSON.stringify(text)} matches cannot be told`;
}

export function userPattern({ patterns }: ForeignRule): ForeignPattern | undefined {
  return patterns.get('user') ?? patterns.get('original_user');
}

export function groupPattern({ patterns }: ForeignRule): ForeignPattern | undefined {
  return patterns.get('group') ?? patterns.get('original_group');
}

/** The first of a file, where it has one. */
export function ruleForGroups(rules: ForeignRules): ForeignRule | undefined {
  return [...rules.values()].flat().find((rule) => groupPattern(rule) !== undefined);
}

/** The engine knows nobody's role here. */
function isForRole({ patterns }: ForeignRule): boolean {
  return patterns.has('role') || patterns.has('original_role');
}

/** Everybody whom the patterns of a file match, for files without rules for groups. */
export const ANYBODY: Audiences = {
  everybody: undefined,
  audience(rule) {
    const user = isForRole(rule) ? null : userPattern(rule)?.text;
    return { user: user === null ? null : anyName('user', user), isJudged: isJudged(user ?? undefined) };
  },
  namesOf: () => null,
};

/** A control character, which is in no name. */
const NOBODY = '\u0001';

/** One user alone: the other rules stay in their places, and match nobody. */
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
    const isJudged = isKnown && this.listed.isJudged(rule);
    return { user: this.mayBeAbout(rule) ? undefined : NOBODY, isJudged };
  }

  namesOf(rule: ForeignRule): string[] {
    return this.mayBeAbout(rule) ? [this.name] : [];
  }

  private mayBeAbout(rule: ForeignRule): boolean {
    if (this.groups !== null) return this.listed.namesOf(rule).length > 0;
    return !isForRole(rule) && this.listed.matcherOf(userPattern(rule)?.text)(this.name);
  }
}

/** Finds the users that rules are about, as the engine does: by name, by any of their groups, and never by a role. */
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
    return { user: names.length === 0 ? null : anyOf(names), isJudged: this.isJudged(rule) };
  }

  isJudged(rule: ForeignRule): boolean {
    return isJudged(userPattern(rule)?.text) && isJudged(groupPattern(rule)?.text);
  }

  namesOf(rule: ForeignRule): string[] {
    if (isForRole(rule)) return [];
    const [isUser, isGroup] = [this.matcherOf(userPattern(rule)?.text), this.matcherOf(groupPattern(rule)?.text)];
    const isForAnyGroups = groupPattern(rule) === undefined;
    return this.users
      .filter(({ name, knownAs = name, groups }) => isUser(knownAs) && (isForAnyGroups || groups.some(isGroup)))
      .map(({ name }) => name);
  }

  /** Whether a pattern matches a name; also true where the pattern cannot be judged. */
  matcherOf(pattern: string | undefined): (name: string) => boolean {
    // Reading a long pattern takes longer than matching it.
    if (!isJudged(pattern)) return () => true;
    return (name) => this.patterns.matches(pattern, name);
  }
}
