import type { ForeignRules } from '../check/foreign-rules.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { type AccessDifference, diffAccess } from '../../trino-rules/diff/access-diff.js';
import { READERS_FILTER, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { conjuncts } from '../../trino-rules/engine/actual-access.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { anyPatterns, ListedUsers, type ListedUser } from '../foreign/audiences.js';
import { isPossible } from '../foreign/foreign-diff.js';
import { compareFindings, importFinding, type ImportFinding } from './import-finding.js';
import { type Exclusion, importRules } from './import-rules.js';
import { findingsOfJoiners, findingsOfLeavers } from './joiner-findings.js';
import { joinersOf } from './joiners.js';
import type { ListedName } from './known-names.js';
import { type ListedRules, listedRules } from './listed-rules.js';
import { findingsOfList } from './list-findings.js';
import { DifferenceFindings } from './difference-findings.js';
import { withoutParentheses } from '../foreign/equal-filters.js';
import { rulesForUsers } from './programs.js';
import { letsJoinersIn, ungrantableRights, usersWithoutPrincipal } from './ungrantable-rights.js';

export interface ProvenImport {
  snapshot: Snapshot;
  /** Access that the users lose and gain by the compiled snapshot, because grants cannot express it. */
  findings: ImportFinding[];
}

/**
 * Imports rules of any file that the engine loads, compiles what came out, and compares both for these users on every node that either
 * names. Nobody gains anything but what comes with any access, which is a finding.
 * @param file what `readLeniently` made of a text, without refusals
 * @param listing what the engine has, over which patterns are resolved
 * @throws BudgetExceeded
 */
export function provenImport(
  file: { rules: ForeignRules; at: number },
  users: readonly ListedUser[],
  defaults: { settings: SnapshotSettings; at: Date },
  budget: WorkBudget,
  listing: readonly ListedName[] = [],
): ProvenImport {
  const { rules, at } = file;
  const { listed, given, evaluator, users: known, programs } = rulesForUsers(rules, users, budget);
  const names = users.map(({ name }) => name);
  const findings = [
    ...given.findings,
    ...programs,
    ...ungrantableRights(rules, listed),
    ...findingsOfList(rules, users, defaults.settings, anyPatterns(budget)),
  ];

  const strangers = usersWithoutPrincipal(rules, listed);
  const silent = names.filter((name) => !strangers.includes(name) && !evaluator.mayWithQueries(name, 'execute'));

  // Who may not execute queries gets nothing that statements use.
  const excluded: Exclusion[] = strangers.map((user) => ({ user, catalog: null }));
  const letIn = new Set(names.filter((name) => !strangers.includes(name)));
  const judged = new Set([...letIn].filter((name) => !silent.includes(name)));
  const { joiners, uncompared } = joinersOf(rules, listed.users, anyPatterns(budget));
  if (!letsJoinersIn(rules, anyPatterns(budget)))
    excluded.push(...joiners.map(({ name }) => ({ user: name, catalog: null })));
  const everybody = new ListedUsers([...users, ...joiners], anyPatterns(budget));
  const ofAll = listedRules(rules, everybody);
  // Only programs of the list act as others.
  const forAll: ListedRules = {
    ...ofAll,
    document: { ...ofAll.document, impersonation: given.document.impersonation },
    sourceOf: (rule) => ofAll.sourceOf(rule) ?? given.sourceOf(rule),
  };
  const isAsked = new Set(everybody.users.map(({ name }) => name));
  const isJoiner = new Set(joiners.map(({ name }) => name));
  const leavers = new Set(joiners.filter(({ knownAs }) => knownAs !== undefined).map(({ name }) => name));
  const isKept = (name: string): boolean => !leavers.has(name);
  const isOverKnown = ({ fact }: AccessDifference): boolean =>
    !(fact.about === 'impersonation' && isJoiner.has(fact.newUser)) &&
    !(fact.about === 'queries' && isJoiner.has(fact.owner ?? ''));
  for (;;) {
    const made = importRules(forAll, known, joiners, anyPatterns(budget), defaults, excluded, listing);
    const { snapshot } = made;
    const after = compile(made.withJoiners).document;
    const { gained: all, lost: without } = diffAccess(
      comparable(forAll.document),
      comparable(after),
      budget,
      anyPatterns(budget),
    );
    const gained = ofUsers(all.filter(isOverKnown), isAsked);
    const more = gained
      .filter((each) => !isBasic(each))
      .map((each) => ({ ...each, people: each.people.filter(isKept) }))
      .filter(({ people }) => people.length > 0);
    const unrestricted = made.unrestricted.filter(({ name }) => isKept(name));
    if (more.length === 0 && unrestricted.length === 0) {
      const evaluatorOfAll = new Evaluator(forAll.document, anyPatterns(budget));
      const reported = new DifferenceFindings(file, forAll, evaluatorOfAll, anyPatterns(budget), known);
      const next = new Evaluator(after, anyPatterns(budget));
      const lost = reported.ofEffect(ofUsers(without.filter(isOverKnown), isAsked), next);
      const ofListed = ofUsers(lost, new Set(names));
      const [beside, others] = [
        ofListed.filter(isBesideStatements),
        ofListed.filter((each) => !isBesideStatements(each)),
      ];
      const losing = (user: string): boolean => others.some(({ people }) => people.includes(user));
      findings.push(
        ...principalFindings(rules, at, names, strangers.filter(losing)),
        ...queryFindings(rules, at, silent.filter(losing)),
        ...reported.lost([...ofUsers(others, judged), ...ofUsers(beside, letIn)], snapshot, listing.length > 0),
        ...reported.basicAccess(ofUsers(gained, new Set(names))),
        ...[...made.renamed].map(([group, name]) => {
          const members = users.filter(({ groups }) => groups.includes(group)).map((user) => user.name);
          const why = 'another group has its name in another case, or no group can have it';
          return importFinding('import-group-renamed', members, [`${group} as ${name}`], why, { rule: null, at });
        }),
        ...findingsOfJoiners(reported, lost, joiners),
        ...pairFindings(uncompared, at),
        ...findingsOfLeavers(
          reported,
          ofUsers(
            gained.filter((each) => !isBasic(each)),
            leavers,
          ),
          joiners,
        ),
      );
      return { snapshot, findings: findings.sort(compareFindings) };
    }
    // Where more turns out to be given, a catalog's unnamed parts are left out first, then all of it, and then the user.
    const found = [
      ...unrestricted.map(({ name, resource }) => ({ resource, people: [name], isOfAll: true })),
      ...more.map(({ fact, people }) => ({
        resource: 'resource' in fact ? fact.resource : {},
        people,
        isOfAll: false,
      })),
    ];
    const before = excluded.length;
    const tried = new Set(excluded.map(keyOf));
    for (const { resource, people, isOfAll } of found)
      for (const user of people) {
        const { catalog = null } = resource;
        const steps: Exclusion[] = [
          { user, catalog, isOfUnnamed: true },
          { user, catalog },
          { user, catalog: null },
        ];
        const open = steps.slice(catalog === null ? 2 : isOfAll ? 1 : 0);
        const next = open.find((step) => !tried.has(keyOf(step)));
        if (next !== undefined && !excluded.slice(before).some((each) => keyOf(each) === keyOf(next)))
          excluded.push(next);
      }
    if (excluded.length === before) throw new Error('the import gives more than the rules, whatever is left out');
  }
}

function keyOf({ user, catalog, isOfUnnamed = false }: Exclusion): string {
  return JSON.stringify([user, catalog, isOfUnnamed]);
}

/** Access that comes with other access: the session properties of the settings. */
function isBasic({ fact }: AccessDifference): boolean {
  return fact.about === 'session-property';
}

function isBesideStatements({ fact }: AccessDifference): boolean {
  return ['impersonation', 'queries', 'system-information'].includes(fact.about);
}

function ofUsers(differences: readonly AccessDifference[], names: ReadonlySet<string>): AccessDifference[] {
  return differences
    .filter(isPossible)
    .map((each) => ({ ...each, people: each.people.filter((name) => names.has(name)), strangers: [] }))
    .filter(({ people }) => people.length > 0);
}

function principalFindings(
  rules: ForeignRules,
  at: number,
  names: readonly string[],
  strangers: readonly string[],
): ImportFinding[] {
  const principals = rules.get('principals');
  if (principals === undefined) return [];
  const place = { rule: principals[0]?.place ?? null, at: principals[0]?.at ?? at };
  const findings = [
    importFinding('import-principals', names, ['which principal is which user'], 'it is decided at sign-in', place),
  ];
  if (strangers.length > 0) {
    const why = 'no rule of "principals" lets them in';
    findings.push(importFinding('import-no-principal', strangers, ['everything'], why, place));
  }
  return findings;
}

function pairFindings(uncompared: readonly string[][], at: number): ImportFinding[] {
  const [first] = uncompared;
  if (first === undefined) return [];
  const what = [`${uncompared.length} pairs of groups, such as ${first.join(' and ')}`];
  const why = 'there are too many: who joins both may get what the file gives those of one alone';
  return [importFinding('import-uncompared', [], what, why, { rule: null, at })];
}

function queryFindings(rules: ForeignRules, at: number, silent: readonly string[]): ImportFinding[] {
  if (silent.length === 0) return [];
  const place = { rule: null, at: rules.get('queries')?.[0]?.at ?? at };
  return [
    importFinding(
      'import-no-queries',
      silent,
      ['data, and all else that statements use'],
      'they may not execute queries',
      place,
    ),
  ];
}

/** Filters as sets of expressions: a compiled one has parentheses around each. */
export function comparable(document: RulesDocument): RulesDocument {
  const tables = document.tables.map((rule) =>
    // The filter of those who only read is none of rows.
    rule.filter === undefined || rule.filter === READERS_FILTER
      ? rule
      : {
          ...rule,
          filter: conjuncts(rule.filter)
            .map((conjunct) => `(${withoutParentheses(conjunct)})`)
            .join(' AND '),
        },
  );
  return { ...document, tables };
}
