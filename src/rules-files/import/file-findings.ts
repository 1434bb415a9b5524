import { getOrInsert } from '../../kernel/collections.js';
import { firstNames } from '../../kernel/name.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { canBeImpersonated } from '../../trino-rules/model/named-others.js';
import { anyName } from '../check/foreign-language.js';
import { type ForeignRule, type ForeignRules, groupPattern, userPattern } from '../check/foreign-rules.js';
import {
  foreignPatterns,
  canBeJudged,
  type ListedUser,
  ListedUsers,
  ruleForGroups,
  unlistedPrincipals,
} from '../foreign/audiences.js';
import { importFinding, type ImportFinding } from './import-finding.js';
import { restrictedNewcomers } from './joiners.js';
import { type ListedRules, listedRules } from './listed-rules.js';

/** The rules of a file for the users of a list. */
export interface RulesForUsers {
  listed: ListedUsers;
  given: ListedRules;
  evaluator: Evaluator;
  /** Users that impersonate others are marked as programs. */
  users: readonly ListedUser[];
  /** One finding for each rule; `what` has the lines by which a list of users marks the programs. */
  programs: ImportFinding[];
}

/**
 * Marks unmarked users as programs if a rule of `impersonation` names them and lets them impersonate another listed user. A pattern that
 * matches everybody does not name a user.
 * @throws BudgetExceeded
 */
export function rulesForUsers(rules: ForeignRules, unmarked: readonly ListedUser[], budget: WorkBudget): RulesForUsers {
  const patterns = foreignPatterns(budget);
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

/** Users without mark, address and group to whom a rule that names them gives ownership or writing, each with the first such rule. */
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

/** The users whom a rule names; none if its pattern matches everybody of the list without naming them. */
function namedBy(rule: ForeignRule, listed: ListedUsers, patterns: PatternCache): string[] {
  const text = userPattern(rule)?.text;
  if (text === undefined || !canBeJudged(text)) return [];
  const named = listed.namesOf(rule);
  return named.length < listed.users.length || patterns.language(text).kind === 'names' ? named : [];
}

/** The line of the list that marks a program. */
function lineOf({ name, groups }: ListedUser): string {
  return `engine:${name}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}

/** Rights that no grant gives: making catalogs, and changing owners. */
export function ungrantableRights(rules: ForeignRules, listed: ListedUsers): ImportFinding[] {
  const owner = ({ patterns }: ForeignRule): string =>
    patterns.get('new_user')?.text ?? `the role ${patterns.get('new_role')?.text ?? ''}`;
  return [
    ...givenTo(listed, rules.get('catalogs'), 'catalog', 'nobody makes catalogs by a grant', ({ gives }) =>
      gives.includes('owner') ? ['CREATE CATALOG and DROP CATALOG'] : [],
    ),
    ...givenTo(listed, rules.get('authorization'), 'new_user', 'no grant changes an owner', (rule) =>
      rule.gives.includes('true') ? [`SET AUTHORIZATION to ${owner(rule)}`] : [],
    ),
  ];
}

/**
 * The rules that give a right to users for whom no earlier rule has decided about every object.
 * @param object field with the pattern of the objects
 */
function givenTo(
  listed: ListedUsers,
  rules: readonly ForeignRule[] | undefined,
  object: string,
  why: string,
  given: (rule: ForeignRule) => string[],
): ImportFinding[] {
  const decided = new Set<string>();
  return (rules ?? []).flatMap((rule) => {
    const names = listed.namesOf(rule);
    const reached = names.filter((name) => !decided.has(name));
    const isForAll = anyName(object, rule.patterns.get(object)?.text) === undefined;
    if (listed.canBeJudged(rule) && isForAll) for (const name of names) decided.add(name);
    const what = given(rule);
    if (reached.length === 0 || what.length === 0) return [];
    return [importFinding('import-right', reached, what, why, { rule: rule.place, at: rule.at })];
  });
}

/** Users whom no rule of `principals` lets in; without the section everybody is let in. */
export function usersWithoutPrincipal(rules: ForeignRules, listed: ListedUsers): string[] {
  const letIn = usersLetIn(rules)?.map((text) => listed.matcherOf(text));
  if (letIn === undefined) return [];
  return listed.users.map(({ name }) => name).filter((name) => !letIn.some((mayMatch) => mayMatch(name)));
}

/** Whether `principals` lets in users that it does not spell out. */
export function letsJoinersIn(rules: ForeignRules, patterns: PatternCache): boolean {
  const isOpen = (text: string | undefined): boolean => !canBeJudged(text) || patterns.language(text).kind !== 'names';
  return usersLetIn(rules)?.some(isOpen) ?? true;
}

function usersLetIn(rules: ForeignRules): (string | undefined)[] | undefined {
  const letting = rules.get('principals')?.filter(({ gives }) => gives.includes('true'));
  return letting?.map(({ patterns }) => patterns.get('user')?.text);
}

/**
 * Findings about `principals` and `queries`.
 * @param strangers users who are not let in, and lose something
 * @param silent users who may not execute queries, and lose something
 */
export function findingsOfEntry(
  { rules, at }: { rules: ForeignRules; at: number },
  names: readonly string[],
  strangers: readonly string[],
  silent: readonly string[],
): ImportFinding[] {
  const [first] = rules.get('principals') ?? [];
  const place = { rule: first?.place ?? null, at: first?.at ?? at };
  const found: ImportFinding[] = [];
  if (rules.has('principals'))
    found.push(
      importFinding('import-principals', names, ['which principal is which user'], 'it is decided at sign-in', place),
    );
  if (strangers.length > 0)
    found.push(
      importFinding('import-no-principal', strangers, ['everything'], 'no rule of "principals" lets them in', place),
    );
  if (silent.length > 0) {
    const what = ['data, and all else that statements use'];
    const queries = { rule: null, at: rules.get('queries')?.[0]?.at ?? at };
    found.push(importFinding('import-no-queries', silent, what, 'they may not execute queries', queries));
  }
  return found;
}

/**
 * Users and groups to whom rules give something, and which the list lacks.
 * @param own accounts of the service, which have rules of their own
 */
export function findingsOfList(
  rules: ForeignRules,
  users: readonly ListedUser[],
  own: readonly string[],
  patterns: PatternCache,
): ImportFinding[] {
  const isGrouped = users.some(({ groups }) => groups.length > 0);
  const missing = unlistedPrincipals(
    'users',
    rules,
    [...users, ...own.map((name) => ({ name, groups: [] }))],
    patterns,
  );
  const groups = isGrouped
    ? unlistedPrincipals('groups', rules, users, patterns)
    : { names: [], rule: ruleForGroups(rules) ?? null };
  const [code, people, why] = isGrouped
    ? (['import-groups-missing', [], `nobody of the list is in ${groups.names.join(', ')}`] as const)
    : (['import-no-groups', users.map(({ name }) => name), 'the list gives nobody a group'] as const);
  const place = (rule: ForeignRule, { at }: { at: number } = rule) => ({ rule: rule.place, at });
  const found: ImportFinding[] = [];
  const newcomers = restrictedNewcomers(rules, [...users, ...own.map((name) => ({ name, groups: [] }))], patterns);
  if (groups.rule !== null) {
    const at = place(groups.rule, groupPattern(groups.rule));
    found.push(importFinding(code, people, ['what rules for groups give'], why, at));
  }
  if (newcomers.rule !== null) {
    const { names, rule } = newcomers;
    const kept = [`what rules keep from ${firstNames(names, MOST_NAMED)}`];
    const at = place(rule, userPattern(rule) ?? groupPattern(rule));
    found.push(importFinding('import-newcomers', [], kept, OF_NEWCOMERS, at));
  }
  if (missing.rule !== null) {
    const at = place(missing.rule, userPattern(missing.rule));
    const absent = 'the list has not got them';
    found.push(importFinding('import-users-missing', missing.names, ['what rules give them'], absent, at));
  }
  return found;
}

const OF_NEWCOMERS =
  'the list has not got them: who comes under such a name, or into such a group, has what the rules behind give';
/** Limit of the names in a line. */
const MOST_NAMED = 20;
