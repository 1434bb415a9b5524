import { compile } from '../../trino-rules/compile/compile.js';
import { type AccessDifference, diffAccess } from '../../trino-rules/diff/access-diff.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { ForeignRules } from '../check/foreign-rules.js';
import { foreignPatterns, type ListedUser, ListedUsers } from '../foreign/audiences.js';
import { withComparableFilters } from '../foreign/foreign-document.js';
import { differencesOfUsers } from '../foreign/foreign-diff.js';
import { DifferenceFindings } from './difference-findings.js';
import {
  findingsOfEntry,
  findingsOfList,
  letsJoinersIn,
  rulesForUsers,
  ungrantableRights,
  usersWithoutPrincipal,
} from './file-findings.js';
import { compareFindings, importFinding, type ImportFinding } from './import-finding.js';
import { type Exclusion, type ImportedRules, importRules } from './import-rules.js';
import { type ExtraJoiners, joinersOf, extraJoiners } from './joiners.js';
import { type ListedRules, listedRules } from './listed-rules.js';
import type { ListedName } from './named-nodes.js';

export interface ProvenImport {
  snapshot: Snapshot;
  /** Access that the users lose and gain by the compiled snapshot, because grants cannot express it. */
  findings: ImportFinding[];
}

/**
 * Imports rules of any file that the engine loads, compiles the resulting snapshot, and compares both documents for these users on every
 * node that either names. Users gain nothing except what comes with any access, which is a finding.
 * @param file what `readLeniently` made of a text, without refusals
 * @param listing names that exist on the engine, to which patterns are resolved
 * @param extra further joiners to compare, found by a first import
 * @throws BudgetExceeded
 */
export function provenImport(
  file: { rules: ForeignRules; at: number },
  users: readonly ListedUser[],
  defaults: { settings: SnapshotSettings; at: Date },
  budget: WorkBudget,
  listing: readonly ListedName[] = [],
  extra: ExtraJoiners = { combinations: [], leavers: [] },
): ProvenImport {
  const { rules, at } = file;
  const { listed, given, evaluator, users: known, programs } = rulesForUsers(rules, users, budget);
  const names = users.map(({ name }) => name);
  const strangers = usersWithoutPrincipal(rules, listed);
  const letIn = new Set(names.filter((name) => !strangers.includes(name)));
  // Users who may not execute queries get nothing that statements use.
  const silent = [...letIn].filter((name) => !evaluator.mayWithQueries(name, 'execute'));
  const judged = new Set([...letIn].filter((name) => !silent.includes(name)));
  const { joiners, uncompared } = joinersOf(rules, listed.users, foreignPatterns(budget), extra);
  const isJoiner = new Set(joiners.map(({ name }) => name));
  const leavers = new Set(joiners.filter(({ knownAs }) => knownAs !== undefined).map(({ name }) => name));
  const excluded: Exclusion[] = [...strangers, ...(letsJoinersIn(rules, foreignPatterns(budget)) ? [] : isJoiner)].map(
    (user) => ({ user, catalog: null }),
  );
  const everybody = new ListedUsers([...users, ...joiners], foreignPatterns(budget));
  const isAsked = new Set(everybody.users.map(({ name }) => name));
  const ofAll = listedRules(rules, everybody);
  // Only programs of the list impersonate others.
  const forAll: ListedRules = {
    ...ofAll,
    document: { ...ofAll.document, impersonation: given.document.impersonation },
    sourceOf: (rule) => ofAll.sourceOf(rule) ?? given.sourceOf(rule),
  };
  const before = withComparableFilters(forAll.document);
  const isOverKnown = ({ fact }: AccessDifference): boolean =>
    !(fact.about === 'impersonation' && isJoiner.has(fact.newUser)) &&
    !(fact.about === 'queries' && isJoiner.has(fact.owner ?? ''));
  for (;;) {
    const made = importRules(forAll, known, joiners, foreignPatterns(budget), defaults, excluded, listing);
    const { snapshot } = made;
    const after = compile(made.withJoiners).document;
    const access = diffAccess(before, withComparableFilters(after), budget, foreignPatterns(budget));
    const gained = differencesOfUsers(access.gained.filter(isOverKnown), isAsked);
    const basic = gained.filter(isBasic);
    const more = gained.filter((each) => !isBasic(each));
    const tooMuch = tooMuchGiven(made, more, leavers);
    if (tooMuch.length > 0) {
      const next = nextExclusions(tooMuch, excluded);
      if (next.length === 0) throw new Error('the import gives more than the rules, whatever is left out');
      excluded.push(...next);
      continue;
    }
    const further = extraJoiners(snapshot, joiners, made.ofList, extra);
    if (joinersOf(rules, listed.users, foreignPatterns(budget), further).joiners.length > joiners.length)
      return provenImport(file, users, defaults, budget, listing, further);
    const evaluatorOfAll = new Evaluator(forAll.document, foreignPatterns(budget));
    const reported = new DifferenceFindings(file, forAll, evaluatorOfAll, foreignPatterns(budget), known);
    const next = new Evaluator(after, foreignPatterns(budget));
    const lost = reported.withEffect(differencesOfUsers(access.lost.filter(isOverKnown), isAsked), next);
    const ofListed = differencesOfUsers(lost, new Set(names));
    const others = ofListed.filter((each) => !isNotUsedByStatements(each));
    const losing = new Set(others.flatMap(({ people }) => people));
    const lostByListed = [
      ...differencesOfUsers(others, judged),
      ...differencesOfUsers(ofListed.filter(isNotUsedByStatements), letIn),
    ];
    const isLosing = (user: string): boolean => losing.has(user);
    const findings = [
      ...given.findings,
      ...programs,
      ...ungrantableRights(rules, listed),
      ...findingsOfList(rules, users, defaults.settings.serviceAccounts, foreignPatterns(budget)),
      ...findingsOfEntry(file, names, strangers.filter(isLosing), silent.filter(isLosing)),
      ...reported.lostFindings(lostByListed, snapshot, listing.length > 0),
      ...reported.propertyFindings('import-basic-access', differencesOfUsers(basic, new Set(names))),
      ...[...made.renamed].map(([group, name]) => {
        const members = users.filter(({ groups }) => groups.includes(group)).map((user) => user.name);
        const why = 'another group has its name in another case, or no group can have it';
        return importFinding('import-group-renamed', members, [`${group} as ${name}`], why, { rule: null, at });
      }),
      ...reported.joinerFindings(lost, joiners),
      ...pairFindings(uncompared, at),
      ...reported.leaverFindings(differencesOfUsers(more, leavers), joiners),
    ];
    return { snapshot, findings: findings.sort(compareFindings) };
  }
}

/** Access that users get and the rules do not give them, without what they keep after leaving a group. */
function tooMuchGiven(
  { unrestricted }: ImportedRules,
  more: readonly AccessDifference[],
  leavers: ReadonlySet<string>,
): { user: string; catalog: string | null; isOfAll: boolean }[] {
  const found = [
    ...unrestricted.map(({ name, resource }) => ({ resource, people: [name], isOfAll: true })),
    ...more.map(({ fact, people }) => ({ resource: 'resource' in fact ? fact.resource : {}, people, isOfAll: false })),
  ];
  return found.flatMap(({ resource: { catalog = null }, people, isOfAll }) =>
    people.filter((user) => !leavers.has(user)).map((user) => ({ user, catalog, isOfAll })),
  );
}

/** Leaves out a catalog's unnamed parts first, then all of it, and then the user. */
function nextExclusions(tooMuch: ReturnType<typeof tooMuchGiven>, excluded: readonly Exclusion[]): Exclusion[] {
  const tried = new Set(excluded.map(keyOf));
  const found = new Map<string, Exclusion>();
  for (const { user, catalog, isOfAll } of tooMuch) {
    const steps = [
      { user, catalog, isOfUnnamed: true },
      { user, catalog },
      { user, catalog: null },
    ];
    const next = steps.slice(catalog === null ? 2 : isOfAll ? 1 : 0).find((step) => !tried.has(keyOf(step)));
    if (next !== undefined) found.set(keyOf(next), next);
  }
  return [...found.values()];
}

function keyOf({ user, catalog, isOfUnnamed = false }: Exclusion): string {
  return JSON.stringify([user, catalog, isOfUnnamed]);
}

/** Access that comes with other access: the session properties of the settings. */
function isBasic({ fact }: AccessDifference): boolean {
  return fact.about === 'session-property';
}

function isNotUsedByStatements({ fact }: AccessDifference): boolean {
  return ['impersonation', 'queries', 'system-information'].includes(fact.about);
}

function pairFindings(uncompared: readonly string[][], at: number): ImportFinding[] {
  const [first] = uncompared;
  if (first === undefined) return [];
  const what = [`${uncompared.length} combinations of groups, such as ${first.join(' and ')}`];
  const why = 'there are too many: who joins both may get what the file gives those of one alone';
  return [importFinding('import-uncompared', [], what, why, { rule: null, at })];
}
