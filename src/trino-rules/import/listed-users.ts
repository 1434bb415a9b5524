import type { ForeignRule } from '../check/foreign-rules.js';
import { languageOf } from '../check/foreign-language.js';
import { PatternCache } from '../document/pattern-cache.js';
import { readPattern, type Pattern } from '../document/pattern.js';
import type { WorkBudget } from '../document/work-budget.js';

/** A user as the engine knows it, with the groups that its group provider gives it. */
export interface ListedUser {
  name: string;
  groups: readonly string[];
}

/** Users that a rule is about; all of them that it may be about where one of its patterns cannot be judged. */
export interface Audience {
  names: readonly string[];
  isJudged: boolean;
}

/** A pattern that matches more names is treated as one with `.*`. */
const MAX_NAMES = 20_000;

/** For patterns of any file and of Grantline's own; those that are not judged are never asked about. */
export function anyPatterns(budget: WorkBudget): PatternCache {
  return new PatternCache(budget, javaPattern, () => MAX_NAMES);
}

function javaPattern(text: string): Pattern {
  const common = readPattern(text);
  if (common.kind === 'pattern') return common.pattern;
  const language = languageOf(text);
  if (language.kind !== 'regular') throw new RangeError('a pattern that is not judged as a language');
  return language.pattern;
}

/** False: it has a look-around or the like, so that the names that it matches are not known. */
export function isJudged(text: string | undefined): boolean {
  return languageOf(text).kind !== 'opaque';
}

/** Finds the users that rules are about, as the engine does: by name, by any of their groups, and never by a role. */
export class ListedUsers {
  constructor(
    readonly users: readonly ListedUser[],
    private readonly patterns: PatternCache,
  ) {}

  audience({ patterns }: ForeignRule): Audience {
    if (patterns.has('role') || patterns.has('original_role')) return { names: [], isJudged: true };
    const user = (patterns.get('user') ?? patterns.get('original_user'))?.text;
    const group = (patterns.get('group') ?? patterns.get('original_group'))?.text;
    const names = this.users
      .filter(({ name, groups }) => this.mayMatch(user, name) && this.isInGroup(group, groups))
      .map(({ name }) => name);
    return { names, isJudged: isJudged(user) && isJudged(group) };
  }

  /** Also true where the pattern cannot be judged. */
  mayMatch(pattern: string | undefined, name: string): boolean {
    return !isJudged(pattern) || this.patterns.matches(pattern, name);
  }

  private isInGroup(pattern: string | undefined, groups: readonly string[]): boolean {
    return pattern === undefined || groups.some((group) => this.mayMatch(pattern, group));
  }
}
