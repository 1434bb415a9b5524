import { compile } from '../../trino-rules/compile/compile.js';
import { type AccessDifference, diffAccess } from '../../trino-rules/diff/access-diff.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { ForeignRules } from '../check/foreign-rules.js';
import { newPatternCache, type ListedUser, ListedUsers } from '../foreign/audiences.js';
import { withComparableFilters } from '../../trino-rules/engine/schema-tables.js';
import { differencesOfUsers } from '../foreign/foreign-diff.js';
import { DifferenceFindings } from './difference-findings.js';
import {
  engineAdmissionFindings,
  findingsOfList,
  admitsUnlisted,
  rulesForUsers,
  ungrantableRights,
  usersWithoutPrincipal,
  type ListedRules,
  listedRules,
} from './file-findings.js';
import { compareFindings, importFinding, type ImportFinding } from './import-finding.js';
import { type Exclusion, type ImportedRules, importRules } from './import-rules.js';
import { type ExtraJoiners, joinersOf, extraJoiners } from './joiners.js';
import type { ListedName } from './named-nodes.js';

export interface ProvenImport {
  snapshot: Snapshot;
  /** Remarks, and access that users lose or gain by the import because grants cannot express the rules exactly. */
  findings: ImportFinding[];
}

/**
 * Imports the rules of a file, compiles the resulting snapshot, and compares the compiled rules with the file. Users gain no access,
 * except to session properties in the settings.
 * @param file a result of `readLeniently` that the engine does not refuse
 * @param listing names that exist on the engine, to which patterns are resolved
 * @param addedJoiners further hypothetical users (`Joiner`) to compare, found by a first import
 * @throws BudgetExceeded
 */
export function provenImport(
  file: { rules: ForeignRules; at: number },
  users: readonly ListedUser[],
  snapshotDefaults: { settings: SnapshotSettings; at: Date },
  budget: WorkBudget,
  listing: readonly ListedName[] = [],
  addedJoiners: ExtraJoiners = { combinations: [], leavers: [] },
): ProvenImport {
  const { rules, at } = file;
  const newCache = () => newPatternCache(budget);
  const rulesOfUsers = rulesForUsers(rules, users, budget);
  const { listedUsers, evaluator, users: usersWithPrograms, programFindings } = rulesOfUsers;
  const names = users.map(({ name }) => name);
  const usersNotAdmitted = usersWithoutPrincipal(rules, listedUsers);
  const admittedUsers = new Set(names.filter((name) => !usersNotAdmitted.includes(name)));
  const nonExecutors = [...admittedUsers].filter((name) => !evaluator.hasQueryRight(name, 'execute'));
  const executingUsers = new Set([...admittedUsers].filter((name) => !nonExecutors.includes(name)));
  const { joiners, groupSetsLeftOut } = joinersOf(rules, listedUsers.users, newCache(), addedJoiners);
  const joinerNames = new Set(joiners.map(({ name }) => name));
  const leaverNames = new Set(joiners.filter(({ realName }) => realName !== undefined).map(({ name }) => name));
  const exclusions: Exclusion[] = [...usersNotAdmitted, ...(admitsUnlisted(rules, newCache()) ? [] : joinerNames)].map(
    (user) => ({ user, catalog: null }),
  );
  const usersAndJoiners = new ListedUsers([...users, ...joiners], newCache());
  const comparedNames = new Set(usersAndJoiners.users.map(({ name }) => name));
  const rulesOfUsersAndJoiners = listedRules(rules, usersAndJoiners);
  // Rules of impersonation are compared for listed users only, because hypothetical users (`Joiner`) impersonate nobody.
  const rulesOfAllUsers: ListedRules = {
    ...rulesOfUsersAndJoiners,
    document: { ...rulesOfUsersAndJoiners.document, impersonation: rulesOfUsers.listedRules.document.impersonation },
    sourceOf: (rule) => rulesOfUsersAndJoiners.sourceOf(rule) ?? rulesOfUsers.listedRules.sourceOf(rule),
  };
  const originalDocument = withComparableFilters(rulesOfAllUsers.document);
  const concernsNoJoiner = ({ fact }: AccessDifference): boolean =>
    !(fact.about === 'impersonation' && joinerNames.has(fact.newUser)) &&
    !(fact.about === 'queries' && joinerNames.has(fact.owner ?? ''));
  for (;;) {
    const importResult = importRules(
      rulesOfAllUsers,
      usersWithPrograms,
      joiners,
      newCache(),
      snapshotDefaults,
      exclusions,
      listing,
    );
    const { snapshot } = importResult;
    const importedDocument = compile(importResult.snapshotWithJoiners).document;
    const accessDiff = diffAccess(originalDocument, withComparableFilters(importedDocument), budget, newCache());
    const gainedAccess = differencesOfUsers(accessDiff.gained.filter(concernsNoJoiner), comparedNames);
    const basicAccess = gainedAccess.filter(isBasicAccess);
    const excessDifferences = gainedAccess.filter((each) => !isBasicAccess(each));
    const forbiddenExcess = excessAccess(importResult, excessDifferences, leaverNames);
    if (forbiddenExcess.length > 0) {
      const addedExclusions = nextExclusions(forbiddenExcess, exclusions);
      if (addedExclusions.length === 0) throw new Error('the import gives more than the rules, whatever is left out');
      exclusions.push(...addedExclusions);
      continue;
    }
    const nextExtras = extraJoiners(snapshot, joiners, importResult.groupIds, addedJoiners);
    if (joinersOf(rules, listedUsers.users, newCache(), nextExtras).joiners.length > joiners.length)
      return provenImport(file, users, snapshotDefaults, budget, listing, nextExtras);
    const allRulesEvaluator = new Evaluator(rulesOfAllUsers.document, newCache());
    const differenceFindings = new DifferenceFindings(
      file,
      rulesOfAllUsers,
      allRulesEvaluator,
      newCache(),
      usersWithPrograms,
    );
    const importedEvaluator = new Evaluator(importedDocument, newCache());
    const possibleLosses = differencesOfUsers(accessDiff.lost.filter(concernsNoJoiner), comparedNames);
    const lostAccess = differenceFindings.differencesWithEffect(possibleLosses, importedEvaluator);
    const lostByUsers = differencesOfUsers(lostAccess, new Set(names));
    const lostByStatements = lostByUsers.filter((each) => !isNotUsedByStatements(each));
    const losingUsers = new Set(lostByStatements.flatMap(({ people }) => people));
    const lostByListedUsers = [
      ...differencesOfUsers(lostByStatements, executingUsers),
      ...differencesOfUsers(lostByUsers.filter(isNotUsedByStatements), admittedUsers),
    ];
    const isLosing = (user: string): boolean => losingUsers.has(user);
    const findings = [
      ...rulesOfUsers.listedRules.findings,
      ...programFindings,
      ...ungrantableRights(rules, listedUsers),
      ...findingsOfList(rules, users, snapshotDefaults.settings.serviceAccounts, newCache()),
      ...engineAdmissionFindings(file, names, usersNotAdmitted.filter(isLosing), nonExecutors.filter(isLosing)),
      ...differenceFindings.lostFindings(lostByListedUsers, snapshot, listing.length > 0),
      ...differenceFindings.propertyFindings('import-basic-access', differencesOfUsers(basicAccess, new Set(names))),
      ...[...importResult.renamedGroups].map(([group, name]) => {
        const members = users.filter(({ groups }) => groups.includes(group)).map((user) => user.name);
        const why = 'another group has its name in another case, or no group can have it';
        return importFinding('import-group-renamed', members, [`${group} as ${name}`], why, { rule: null, at });
      }),
      ...differenceFindings.joinerFindings(lostAccess, joiners),
      ...uncomparedFindings(groupSetsLeftOut, at),
      ...differenceFindings.leaverFindings(differencesOfUsers(excessDifferences, leaverNames), joiners),
    ];
    return { snapshot, findings: findings.sort(compareFindings) };
  }
}

function excessAccess(
  { unrestrictedJoiners }: ImportedRules,
  excessDifferences: readonly AccessDifference[],
  leaverNames: ReadonlySet<string>,
): { user: string; catalog: string | null; isUnrestricted: boolean }[] {
  const excessNodes = [
    ...unrestrictedJoiners.map(({ name, resource }) => ({ resource, people: [name], isUnrestricted: true })),
    ...excessDifferences.map(({ fact, people }) => ({
      resource: 'resource' in fact ? fact.resource : {},
      people,
      isUnrestricted: false,
    })),
  ];
  return excessNodes.flatMap(({ resource: { catalog = null }, people, isUnrestricted }) =>
    people.filter((user) => !leaverNames.has(user)).map((user) => ({ user, catalog, isUnrestricted })),
  );
}

/** For each user to whom the import gives too much in a catalog, the next, larger part of the user's grants to leave out. */
function nextExclusions(excesses: ReturnType<typeof excessAccess>, triedExclusions: readonly Exclusion[]): Exclusion[] {
  const triedKeys = new Set(triedExclusions.map(keyOf));
  const exclusions = new Map<string, Exclusion>();
  for (const { user, catalog, isUnrestricted } of excesses) {
    const growingExclusions: Exclusion[] = [
      { user, catalog, isCatalogOnly: true },
      { user, catalog },
      { user, catalog: null },
    ];
    const firstIndex = catalog === null ? 2 : isUnrestricted ? 1 : 0;
    const nextExclusion = growingExclusions.slice(firstIndex).find((exclusion) => !triedKeys.has(keyOf(exclusion)));
    if (nextExclusion !== undefined) exclusions.set(keyOf(nextExclusion), nextExclusion);
  }
  return [...exclusions.values()];
}

function keyOf({ user, catalog, isCatalogOnly: unnamedOnly = false }: Exclusion): string {
  return JSON.stringify([user, catalog, unnamedOnly]);
}

/** Differences in session properties are unavoidable, because every grant also gives the session properties of the settings. */
function isBasicAccess({ fact }: AccessDifference): boolean {
  return fact.about === 'session-property';
}

function isNotUsedByStatements({ fact }: AccessDifference): boolean {
  return ['impersonation', 'queries', 'system-information'].includes(fact.about);
}

function uncomparedFindings(groupSetsLeftOut: readonly string[][], at: number): ImportFinding[] {
  const [firstCombination] = groupSetsLeftOut;
  if (firstCombination === undefined) return [];
  const findingLines = [`${groupSetsLeftOut.length} combinations of groups, such as ${firstCombination.join(' and ')}`];
  const why = 'there are too many: who joins both may get what the file gives those of one alone';
  return [importFinding('import-uncompared', [], findingLines, why, { rule: null, at })];
}
