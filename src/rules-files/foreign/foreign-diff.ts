import type { SectionName } from '../check/engine-format.js';
import {
  type ForeignExpression,
  type ForeignRule,
  type ForeignRules,
  groupPattern,
  toOneLine,
  usesIdentity,
} from '../check/foreign-rules.js';
import { type AccessDiff, type AccessDifference, diffAccess } from '../../trino-rules/diff/access-diff.js';
import type { OtherRight } from '../../trino-rules/diff/access-diff-form.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { WorkBudget, BudgetExceeded } from '../../trino-rules/document/work-budget.js';
import { INFORMATION_SCHEMA } from '../../trino-rules/engine/evaluator.js';
import type { AccessFact } from '../../trino-rules/engine/access-fact.js';
import {
  ALL_USERS,
  newPatternCache,
  type Audiences,
  canBeJudged,
  type ListedUser,
  ListedUsers,
  unjudgedMessage,
  recordedUsers,
} from './audiences.js';
import { BUILTIN_SCHEMA, foreignDocument, filterText } from './foreign-document.js';
import { withComparableFilters } from '../../trino-rules/engine/schema-tables.js';
import { type AccessChange, compareAccess } from '../../trino-rules/diff/access-change.js';
import { principalsOf, type Snapshot } from '../../trino-rules/model/snapshot.js';
import { isRefused } from '../check/checks.js';
import { readLeniently } from '../check/lenient-reader.js';

interface ComparisonProblem {
  file: 'before' | 'after';
  /** The place of the rule, such as `tables[12]`. */
  rule: string;
  at: number;
  message: string;
}

export type ForeignDiff =
  | { kind: 'compared'; access: AccessDiff<AccessFact | OtherRight> }
  | { kind: 'incomparable'; problems: ComparisonProblem[] };

/**
 * The access that `after` adds to and removes from `before`. The engine must accept both files. The section `principals` is not compared.
 * @param users the users whose access is compared, with their groups; null: all users, which only files without rules for groups allow
 * @throws BudgetExceeded
 */
export function diffForeign(
  before: ForeignRules,
  after: ForeignRules,
  users: readonly ListedUser[] | null,
  budget: WorkBudget,
): ForeignDiff {
  const listedUsers = users === null ? null : new ListedUsers(users, newPatternCache(budget));
  const audiences = listedUsers ?? ALL_USERS;
  const oldReading = comparableDocument('before', before, audiences, listedUsers);
  const newReading = comparableDocument('after', after, audiences, listedUsers);
  const problems = [...oldReading.problems, ...newReading.problems];
  if (problems.length > 0) return { kind: 'incomparable', problems };
  const documents = [withComparableFilters(oldReading.document), withComparableFilters(newReading.document)] as const;
  const access: AccessDiff<AccessFact | OtherRight> = diffAccess(...documents, budget, newPatternCache(budget));
  for (const nameRight of RIGHTS_ON_NAMES) {
    const toDocument = (rules: ForeignRules): RulesDocument => sessionPropertyDocument(rules, audiences, nameRight);
    const rightsDiff = diffAccess(toDocument(before), toDocument(after), budget, newPatternCache(budget));
    access.gained.push(...rightsDiff.gained.flatMap((each) => withRightOnName(each, nameRight)));
    access.lost.push(...rightsDiff.lost.flatMap((each) => withRightOnName(each, nameRight)));
  }
  const userNames = users === null ? null : new Set(users.map(({ name }) => name));
  const limitToUsers = (differences: ForeignDifference[]): ForeignDifference[] =>
    differencesOfUsers(differences, userNames).map(({ fact, ...each }) => ({
      ...each,
      fact: fact.about === 'row-filter' ? { ...fact, expression: filterText(fact.expression) } : fact,
    }));
  return { kind: 'compared', access: { gained: limitToUsers(access.gained), lost: limitToUsers(access.lost) } };
}

type ForeignDifference = AccessDifference<AccessFact | OtherRight>;
function comparableDocument(
  file: ComparisonProblem['file'],
  rules: ForeignRules,
  audiences: Audiences,
  listedUsers: ListedUsers | null,
): { document: RulesDocument; problems: ComparisonProblem[] } {
  const problem = (rule: ForeignRule, at: number, message: string): ComparisonProblem => ({
    ...{ file, rule: rule.place },
    ...{ at, message },
  });
  const appliedRules = [...rules.values()].flat().filter((rule) => audiences.audience(rule).user !== null);
  const groupProblems = appliedRules.flatMap((rule) => {
    const group = groupPattern(rule);
    if (listedUsers !== null || group === undefined) return [];
    return [
      problem(rule, group.at, 'a rule for groups can only be compared for users of a list, which says who is in them'),
    ];
  });
  const ownerProblems = appliedRules.flatMap((rule) =>
    [...(rule.section === 'authorization' ? rule.patterns : [])].flatMap(([field, { text, at }]) =>
      canBeJudged(text) ? [] : [problem(rule, at, unjudgedMessage(field, text))],
    ),
  );
  const { document, unjudgedPatterns } = foreignDocument(rules, audiences, expressionSql);
  const patternProblems = unjudgedPatterns.map(({ rule, at, message }) => problem(rule, at, message));
  return { document, problems: [...groupProblems, ...patternProblems, ...ownerProblems].sort((a, b) => a.at - b.at) };
}

function expressionSql(expression: ForeignExpression): string {
  const sql = toOneLine(expression.text);
  return usesIdentity(expression) ? `${sql} (evaluated as ${expression.runsAs})` : sql;
}

/** Keeps differences that the engine may ask about (`isAskable`), for the users in `names`. @param names null: all users */
export function differencesOfUsers<Fact extends AccessFact | OtherRight>(
  differences: readonly AccessDifference<Fact>[],
  names: ReadonlySet<string> | null,
): AccessDifference<Fact>[] {
  return differences
    .filter(isAskable)
    .map((each) => ({
      ...each,
      people: each.people.filter((name) => names?.has(name) ?? name !== ''),
      strangers: names === null ? each.strangers : [],
    }))
    .filter(({ people, strangers }) => people.length + strangers.length > 0);
}

/** Whether the engine ever asks the rules about a fact. It never asks about its own functions, for example. */
export function isAskable({ fact }: Pick<ForeignDifference, 'fact'>): boolean {
  if (fact.about === 'session-property') return fact.catalog === null || isObjectName(fact.catalog);
  if (!('resource' in fact)) return true;
  const { catalog, schema, table, routine } = fact.resource;
  if (fact.about === 'schema-ownership' && schema === INFORMATION_SCHEMA) return false;
  if (fact.about === 'routine' && fact.kind === 'procedure' && fact.privilege !== 'EXECUTE') return false;
  if (fact.about === 'routine' && catalog === BUILTIN_SCHEMA.catalog && schema === BUILTIN_SCHEMA.schema) return false;
  return [catalog, schema, table, routine].every((name) => name === undefined || isObjectName(name));
}

function isObjectName(name: string): boolean {
  return name !== '' && name === name.toLowerCase();
}

/** A right on named things, such as ownership of catalogs. The first rule that matches user and name decides. If no rule matches, the user lacks the right. */
interface NameRight {
  section: SectionName;
  field: string;
  /** Whether a rule without `field` is ignored. Otherwise such a rule matches all names. */
  isFieldRequired?: true;
  isGivenBy: (rule: ForeignRule) => boolean;
  rightOn: (name: string) => OtherRight;
}

const RIGHTS_ON_NAMES: readonly NameRight[] = [
  ...(['user', 'role'] as const).map((ownerType): NameRight => ({
    section: 'authorization',
    field: `new_${ownerType}`,
    isFieldRequired: true,
    isGivenBy: ({ rights }) => rights.includes('true'),
    rightOn: (name) => ({ about: 'authorization', to: ownerType, name }),
  })),
  {
    section: 'catalogs',
    field: 'catalog',
    isGivenBy: ({ rights }) => rights.includes('owner'),
    rightOn: (catalog) => ({ about: 'catalog-ownership', resource: { catalog } }),
  },
];

/** Writes the rules about `nameRight` as rules about session properties, because `RulesDocument` has no section for `nameRight`. */
function sessionPropertyDocument(rules: ForeignRules, audiences: Audiences, nameRight: NameRight): RulesDocument {
  const { section, field, isFieldRequired, isGivenBy } = nameRight;
  const convertedRules = (rules.get(section) ?? []).flatMap((rule) => {
    const { user } = audiences.audience(rule);
    const names = rule.patterns.get(field)?.text;
    if (user === null || (isFieldRequired && names === undefined)) return [];
    return [
      { ...(user !== undefined && { user }), ...(names !== undefined && { property: names }), allow: isGivenBy(rule) },
    ];
  });
  const { everybodyPattern } = audiences;
  // The added rule gives nothing. It names every listed user, because only users whom rules name are compared.
  const everybodyRules = everybodyPattern === undefined ? [] : [{ user: everybodyPattern, allow: false }];
  return { ...NO_RULES, system_session_properties: [...convertedRules, ...everybodyRules] };
}

function withRightOnName({ fact, ...users }: AccessDifference, { rightOn }: NameRight): AccessDifference<OtherRight>[] {
  return fact.about === 'session-property' ? [{ ...users, fact: rightOn(fact.property) }] : [];
}

const MAX_WORK_STEPS = 1_000_000_000;

/** How access changes if a document replaces a rules file from elsewhere. Null: the file cannot be evaluated. */
export function replacedAccess(file: string, snapshot: Snapshot, nextDocument: RulesDocument): AccessChange | null {
  const { rules, findings } = readLeniently(file);
  if (rules === null || findings.some(({ code }) => isRefused(code))) return null;
  const patterns = newPatternCache(new WorkBudget(MAX_WORK_STEPS));
  try {
    const users = new ListedUsers(listedPrincipals(snapshot), patterns);
    const { document, unjudgedPatterns } = foreignDocument(rules, users, ({ text }) => toOneLine(text));
    if (unjudgedPatterns.length > 0) return null;
    return compareAccess(withComparableFilters(document), withComparableFilters(nextDocument), undefined, patterns);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return null;
  }
}

function listedPrincipals(snapshot: Snapshot): ListedUser[] {
  const { settings, groups, grants } = snapshot;
  const grantees = grants.flatMap(principalsOf).flatMap((each) => (each.type === 'engine' ? [each.name] : []));
  const engineNames = new Set([...settings.serviceAccounts, ...groups.flatMap(({ engines }) => engines), ...grantees]);
  const groupsOf = (enginePrincipal: string): string[] =>
    groups.flatMap(({ name, engines }) => (engines.includes(enginePrincipal) ? [name] : []));
  return [...recordedUsers(snapshot), ...[...engineNames].map((name) => ({ name, groups: groupsOf(name) }))];
}
