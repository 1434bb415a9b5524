import { getOrInsert } from '../../kernel/collections.js';
import { namesText, resourceNameProblem } from '../../kernel/name.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { isReplacementSafe } from '../../trino-rules/model/named-others.js';
import { selectivePattern } from '../check/foreign-language.js';
import {
  type ForeignRule,
  type ForeignRules,
  groupPattern,
  userPattern,
  type ForeignExpression,
  toOneLine,
  usesIdentity,
} from '../check/foreign-rules.js';
import {
  newPatternCache,
  canBeJudged,
  type ListedUser,
  ListedUsers,
  firstRuleForGroups,
  unlistedPrincipals,
} from '../foreign/audiences.js';
import { importFinding, type ImportFinding, type ImportCode } from './import-finding.js';
import { restrictedNewcomers } from './joiners.js';
import { filterLeakProblem, currentGroupsProblem } from '../../trino-rules/document/expression-warnings.js';
import { policyExpressionProblem } from '../../trino-rules/model/sql-expression.js';
import type { ColumnRule, RulesDocument, TableRule } from '../../trino-rules/document/rules-document.js';
import { foreignDocument } from '../foreign/foreign-document.js';

interface RulesForUsers {
  listedUsers: ListedUsers;
  listedRules: ListedRules;
  evaluator: Evaluator;
  /** The listed users, with those that impersonate others marked as programs. */
  users: readonly ListedUser[];
  programFindings: ImportFinding[];
}

/**
 * Marks users as programs if a rule that is not for everybody lets them impersonate another listed user.
 * @throws BudgetExceeded
 */
export function rulesForUsers(rules: ForeignRules, userList: readonly ListedUser[], budget: WorkBudget): RulesForUsers {
  const patterns = newPatternCache(budget);
  const listedUsers = new ListedUsers(userList, patterns);
  const convertedRules = listedRules(rules, listedUsers);
  const { document } = convertedRules;
  const evaluator = new Evaluator(document, patterns);
  const namedUsersByRule = new Map<ForeignRule, Set<string>>();
  for (const rule of rules.get('impersonation') ?? []) {
    const namedUsers = rule.rights.includes('true') ? usersNamedBy(rule, listedUsers, patterns) : [];
    if (namedUsers.length > 0) namedUsersByRule.set(rule, new Set(namedUsers));
  }
  const newUserNames = listedUsers.users.map(({ name }) => name).filter(isReplacementSafe);
  const programsByRule = new Map<ForeignRule, ListedUser[]>();
  const users = listedUsers.users.map((user) => {
    const { name: original_user, isEngine } = user;
    if (isEngine !== undefined || ![...namedUsersByRule.values()].some((userNames) => userNames.has(original_user)))
      return user;
    for (const new_user of newUserNames) {
      const index = evaluator.firstMatch.index(document.impersonation, { original_user, new_user });
      const decidingRule = document.impersonation[index ?? -1];
      const rule = decidingRule?.allow === true ? convertedRules.sourceOf(decidingRule) : null;
      if (new_user === original_user || rule === null || !namedUsersByRule.has(rule)) continue;
      getOrInsert(programsByRule, rule, () => []).push(user);
      return { ...user, isEngine: true };
    }
    return user;
  });
  const why =
    'this rule lets it act as others; "users import" makes no account of it by --rules, or by this line; user: before a name marks a person';
  return {
    listedUsers,
    listedRules: convertedRules,
    evaluator,
    users,
    programFindings: [...programsByRule].map(([{ place, at }, foundUsers]) =>
      importFinding(
        'import-program',
        foundUsers.map(({ name }) => name),
        foundUsers.map(programLine),
        why,
        { rule: place, at },
      ),
    ),
  };
}

/** By user without groups and without `isEngine`: the first rule that names the user and gives ownership or writing. */
export function writersWithoutMark(
  rules: ForeignRules,
  { listedUsers, users }: RulesForUsers,
  patterns: PatternCache,
): Map<string, ForeignRule> {
  const unmarkedUsers = users.filter(({ isEngine, groups }) => isEngine === undefined && groups.length === 0);
  const unmarkedNames = new Set(unmarkedUsers.map(({ name }) => name));
  const writeRuleByName = new Map<string, ForeignRule>();
  for (const rule of [...(rules.get('schemas') ?? []), ...(rules.get('tables') ?? [])]) {
    if (!rule.rights.some((each) => OWNER_AND_WRITE_RIGHTS.includes(each))) continue;
    for (const name of usersNamedBy(rule, listedUsers, patterns))
      if (unmarkedNames.has(name)) getOrInsert(writeRuleByName, name, () => rule);
  }
  return writeRuleByName;
}

const OWNER_AND_WRITE_RIGHTS = ['true', 'OWNERSHIP', 'INSERT', 'UPDATE', 'DELETE'];

/** The listed users whom a rule names; none for a pattern such as `.*`. */
function usersNamedBy(rule: ForeignRule, listedUsers: ListedUsers, patterns: PatternCache): string[] {
  const text = userPattern(rule)?.text;
  if (text === undefined || !canBeJudged(text)) return [];
  const namedUsers = listedUsers.namesOf(rule);
  return namedUsers.length < listedUsers.users.length || patterns.language(text).kind === 'names' ? namedUsers : [];
}

function programLine({ name, groups }: ListedUser): string {
  return `engine:${name}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}

/** Findings about rights that grants cannot give: creating catalogs, and changing owners. */
export function ungrantableRights(rules: ForeignRules, list: ListedUsers): ImportFinding[] {
  const ownerText = ({ patterns }: ForeignRule): string =>
    patterns.get('new_user')?.text ?? `the role ${patterns.get('new_role')?.text ?? ''}`;
  return [
    ...findingsOfRight(list, rules.get('catalogs'), 'catalog', 'nobody makes catalogs by a grant', ({ rights }) =>
      rights.includes('owner') ? ['CREATE CATALOG and DROP CATALOG'] : [],
    ),
    ...findingsOfRight(list, rules.get('authorization'), 'new_user', 'no grant changes an owner', (rule) =>
      rule.rights.includes('true') ? [`SET AUTHORIZATION to ${ownerText(rule)}`] : [],
    ),
  ];
}

/**
 * For each rule that gives a right, one finding with the users of the rule. Users whom an earlier rule for all objects matches are left out.
 * @param patternField field with the pattern of the objects
 */
function findingsOfRight(
  listedUsers: ListedUsers,
  rules: readonly ForeignRule[] | undefined,
  patternField: string,
  why: string,
  rightsOf: (rule: ForeignRule) => string[],
): ImportFinding[] {
  const decidedUsers = new Set<string>();
  return (rules ?? []).flatMap((rule) => {
    const names = listedUsers.namesOf(rule);
    const undecidedUsers = names.filter((name) => !decidedUsers.has(name));
    const isForAllObjects = selectivePattern(patternField, rule.patterns.get(patternField)?.text) === undefined;
    if (listedUsers.canBeJudged(rule) && isForAllObjects) for (const name of names) decidedUsers.add(name);
    const ruleRights = rightsOf(rule);
    if (undecidedUsers.length === 0 || ruleRights.length === 0) return [];
    return [importFinding('import-right', undecidedUsers, ruleRights, why, { rule: rule.place, at: rule.at })];
  });
}

/** Users whom no rule of `principals` admits. Without the section everybody is admitted. */
export function usersWithoutPrincipal(rules: ForeignRules, list: ListedUsers): string[] {
  const admittedMatchers = admittedUserPatterns(rules)?.map((text) => list.matcherOf(text));
  if (admittedMatchers === undefined) return [];
  return list.users.map(({ name }) => name).filter((name) => !admittedMatchers.some((mayMatch) => mayMatch(name)));
}

/** Whether a pattern in `principals`, such as `a.*`, also admits users whose names the file does not contain. */
export function admitsUnlisted(rules: ForeignRules, patterns: PatternCache): boolean {
  const isBroad = (text: string | undefined): boolean => !canBeJudged(text) || patterns.language(text).kind !== 'names';
  return admittedUserPatterns(rules)?.some(isBroad) ?? true;
}

function admittedUserPatterns(rules: ForeignRules): (string | undefined)[] | undefined {
  const admittingRules = rules.get('principals')?.filter(({ rights }) => rights.includes('true'));
  return admittingRules?.map(({ patterns }) => patterns.get('user')?.text);
}

/**
 * Findings about `principals` and `queries`.
 * @param usersNotAdmitted users who lose access because `principals` does not admit them
 * @param nonExecutors users who lose access because they may not execute queries
 */
export function engineAdmissionFindings(
  { rules, at }: { rules: ForeignRules; at: number },
  names: readonly string[],
  usersNotAdmitted: readonly string[],
  nonExecutors: readonly string[],
): ImportFinding[] {
  const [firstRule] = rules.get('principals') ?? [];
  const place = { rule: firstRule?.place ?? null, at: firstRule?.at ?? at };
  const findings: ImportFinding[] = [];
  if (rules.has('principals'))
    findings.push(
      importFinding('import-principals', names, ['which principal is which user'], 'it is decided at sign-in', place),
    );
  if (usersNotAdmitted.length > 0)
    findings.push(
      importFinding(
        'import-no-principal',
        usersNotAdmitted,
        ['everything'],
        'no rule of "principals" lets them in',
        place,
      ),
    );
  if (nonExecutors.length > 0) {
    const lostAccess = ['data, and all else that statements use'];
    const queriesPlace = { rule: null, at: rules.get('queries')?.[0]?.at ?? at };
    findings.push(
      importFinding('import-no-queries', nonExecutors, lostAccess, 'they may not execute queries', queriesPlace),
    );
  }
  return findings;
}

/**
 * Findings about users and groups that the list lacks, although rules give them something.
 * @param ownAccounts accounts of the service, which have rules of their own
 */
export function findingsOfList(
  rules: ForeignRules,
  users: readonly ListedUser[],
  ownAccounts: readonly string[],
  patterns: PatternCache,
): ImportFinding[] {
  const hasGroups = users.some(({ groups }) => groups.length > 0);
  const knownUsers = [...users, ...ownAccounts.map((name) => ({ name, groups: [] }))];
  const missingUsers = unlistedPrincipals('users', rules, knownUsers, patterns);
  const missingGroups = hasGroups
    ? unlistedPrincipals('groups', rules, users, patterns)
    : { names: [], rule: firstRuleForGroups(rules) ?? null };
  const [code, people, why] = hasGroups
    ? (['import-groups-missing', [], `nobody of the list is in ${missingGroups.names.join(', ')}`] as const)
    : (['import-no-groups', users.map(({ name }) => name), 'the list gives nobody a group'] as const);
  const placeOf = (rule: ForeignRule, { at }: { at: number } = rule) => ({ rule: rule.place, at });
  const findings: ImportFinding[] = [];
  const newcomers = restrictedNewcomers(rules, knownUsers, patterns);
  if (missingGroups.rule !== null) {
    const place = placeOf(missingGroups.rule, groupPattern(missingGroups.rule));
    findings.push(importFinding(code, people, ['what rules for groups give'], why, place));
  }
  if (newcomers.rule !== null) {
    const { names, rule } = newcomers;
    const withheldTexts = [`what rules keep from ${namesText(names, MAX_SHOWN_NAMES)}`];
    const place = placeOf(rule, userPattern(rule) ?? groupPattern(rule));
    findings.push(importFinding('import-newcomers', [], withheldTexts, NEWCOMERS_REASON, place));
  }
  if (missingUsers.rule !== null) {
    const place = placeOf(missingUsers.rule, userPattern(missingUsers.rule));
    const reason = 'the list has not got them';
    findings.push(importFinding('import-users-missing', missingUsers.names, ['what rules give them'], reason, place));
  }
  return findings;
}

const NEWCOMERS_REASON =
  'the list has not got them: who comes under such a name, or into such a group, has what the rules behind give';
const MAX_SHOWN_NAMES = 20;

export interface ListedRules {
  document: RulesDocument;
  /** The rule of the file from which a rule of `document` was made. Null if the rule of `document` stands for an absent section. */
  sourceOf(rule: object): ForeignRule | null;
  /** Findings about rules that could not be judged, and about filters that can reveal the rows that they leave out. */
  findings: ImportFinding[];
  /** The reason why the restrictions of this rule cannot become policies; null: they can. */
  problemOf(rule: TableRule): string | null;
}

export function listedRules(rules: ForeignRules, listedUsers: ListedUsers): ListedRules {
  const convertedRules = foreignDocument(rules, listedUsers, ({ text }) => toOneLine(text));
  const problemsByRule = new Map<TableRule, string | null>();
  return {
    document: convertedRules.document,
    sourceOf: (rule) => convertedRules.sourceOf(rule),
    findings: [
      ...convertedRules.unjudgedPatterns.map(({ rule, at, message }) => {
        const place = { rule: rule.place, at };
        return importFinding('import-pattern-not-judged', listedUsers.namesOf(rule), rightTexts(rule), message, place);
      }),
      ...expressionFindings(rules.get('tables') ?? [], listedUsers),
    ],
    problemOf: (rule) =>
      getOrInsert(problemsByRule, rule, () => {
        const sourceRule = convertedRules.sourceOf(rule);
        return sourceRule === null ? null : policyProblem(expressionsOf(sourceRule), rule.columns ?? []);
      }),
  };
}

function rightTexts({ section, rights, patterns }: ForeignRule): string[] {
  return section === 'impersonation' ? [`impersonate ${patterns.get('new_user')?.text ?? ''}`] : [...rights];
}

function expressionsOf({ filter, columns }: ForeignRule): ForeignExpression[] {
  return [filter, ...columns.map(({ allow, mask }) => (allow ? mask : null))].filter((each) => each !== null);
}

/** Findings about the expressions that the import copies, each at the first rule that contains the expression. */
function expressionFindings(tableRules: readonly ForeignRule[], listedUsers: ListedUsers): ImportFinding[] {
  const findingsByKey = new Map<string, ImportFinding>();
  for (const rule of tableRules) {
    const isImported = rule.rights.length > 0 && policyProblem(expressionsOf(rule), []) === null;
    const people = isImported ? listedUsers.namesOf(rule) : [];
    const report = (code: ImportCode, text: string, why: string | null): void => {
      if (why === null || people.length === 0) return;
      const place = { rule: rule.place, at: rule.at };
      const newFinding = () => importFinding(code, [], [toOneLine(text)], why, place);
      const finding = getOrInsert(findingsByKey, code + text, newFinding);
      finding.people = [...new Set([...finding.people, ...people])];
    };
    for (const { text } of expressionsOf(rule)) report('import-engine-groups', text, currentGroupsProblem(text));
    if (rule.filter !== null) report('import-filter-leaks', rule.filter.text, filterLeakProblem(rule.filter.text));
  }
  return [...findingsByKey.values()];
}

/** The reason why these filters, masks and columns cannot become policies; null: they can. */
function policyProblem(expressions: readonly ForeignExpression[], columns: readonly ColumnRule[]): string | null {
  for (const expression of expressions) {
    const { text, runsAs } = expression;
    const problem = policyExpressionProblem(toOneLine(text));
    if (problem !== null) return `no policy can hold its SQL: ${problem}`;
    if (usesIdentity(expression)) return `its SQL is evaluated as ${runsAs}, and that of a policy as the user who asks`;
  }
  const column = columns.find(({ name }) => resourceNameProblem(name) !== null);
  return column === undefined
    ? null
    : `no policy can name the column ${JSON.stringify(column.name)}: it ${resourceNameProblem(column.name) ?? ''}`;
}
