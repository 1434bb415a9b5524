import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { canBeImpersonated } from '../../trino-rules/model/named-others.js';
import type { ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { anyPatterns, isJudged, type ListedUser, ListedUsers, userPattern } from '../foreign/audiences.js';
import { importFinding, type ImportFinding } from './import-finding.js';
import { type ListedRules, listedRules } from './listed-rules.js';

/** The rules of a file for the users of a list. */
export interface RulesForUsers {
  listed: ListedUsers;
  given: ListedRules;
  evaluator: Evaluator;
  /** With those marked as programs whom the rules take for such. */
  users: readonly ListedUser[];
  /** The programs of each rule: in `what`, the lines that mark them. */
  programs: ImportFinding[];
}

/**
 * Takes for programs whom the list does not mark and a rule of `impersonation` names and lets act as another of them. A pattern that
 * matches everybody is about people, and names nobody.
 * @throws BudgetExceeded
 */
export function rulesForUsers(rules: ForeignRules, unmarked: readonly ListedUser[], budget: WorkBudget): RulesForUsers {
  const patterns = anyPatterns(budget);
  const listed = new ListedUsers(unmarked, patterns);
  const given = listedRules(rules, listed);
  const { document } = given;
  const evaluator = new Evaluator(document, patterns);
  const naming = new Map<ForeignRule, Set<string>>();
  for (const rule of rules.get('impersonation') ?? []) {
    const named = rule.gives.includes('true') ? namedBy(rule, listed, patterns) : [];
    if (named.length > 0) naming.set(rule, new Set(named));
  }
  const targets = listed.users.map(({ name }) => name).filter(canBeImpersonated);
  const programs = new Map<ForeignRule, ListedUser[]>();
  const users = listed.users.map((user) => {
    const { name: original_user, isEngine } = user;
    if (isEngine !== undefined || ![...naming.values()].some((named) => named.has(original_user))) return user;
    for (const new_user of targets) {
      const index = evaluator.first.index(document.impersonation, { original_user, new_user });
      const deciding = document.impersonation[index ?? -1];
      const rule = deciding?.allow === true ? given.sourceOf(deciding) : null;
      if (new_user === original_user || rule === null || !naming.has(rule)) continue;
      getOrInsert(programs, rule, () => []).push(user);
      return { ...user, isEngine: true };
    }
    return user;
  });
  const why =
    'this rule lets it act as others; "users import" makes no account of it by --rules, or by this line; user: before a name marks a person';
  return {
    listed,
    given,
    evaluator,
    users,
    programs: [...programs].map(([{ place, at }, found]) =>
      importFinding(
        'import-program',
        found.map(({ name }) => name),
        found.map(lineOf),
        why,
        { rule: place, at },
      ),
    ),
  };
}

/** Users with neither mark, address nor group whom a rule names and lets own or write, each with the first such rule. */
export function writersWithoutMark(
  rules: ForeignRules,
  { listed, users }: RulesForUsers,
  patterns: PatternCache,
): Map<string, ForeignRule> {
  const unmarked = users.filter(({ isEngine, groups }) => isEngine === undefined && groups.length === 0);
  const names = new Set(unmarked.map(({ name }) => name));
  const found = new Map<string, ForeignRule>();
  for (const rule of [...(rules.get('schemas') ?? []), ...(rules.get('tables') ?? [])]) {
    if (!rule.gives.some((each) => OWNING_OR_WRITING.includes(each))) continue;
    for (const name of namedBy(rule, listed, patterns)) if (names.has(name)) getOrInsert(found, name, () => rule);
  }
  return found;
}

const OWNING_OR_WRITING = ['true', 'OWNERSHIP', 'INSERT', 'UPDATE', 'DELETE'];

/** The users of a rule; none where its pattern matches everybody of the list without naming them. */
function namedBy(rule: ForeignRule, listed: ListedUsers, patterns: PatternCache): string[] {
  const text = userPattern(rule)?.text;
  if (text === undefined || !isJudged(text)) return [];
  const named = listed.namesOf(rule);
  return named.length < listed.users.length || patterns.language(text).kind === 'names' ? named : [];
}

/** As the list marks it. */
function lineOf({ name, groups }: ListedUser): string {
  return `engine:${name}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}
