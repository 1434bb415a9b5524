import type { ForeignPattern, ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { type AccessDifference, diffAccess } from '../../trino-rules/diff/access-diff.js';
import { firstNames } from '../../kernel/name.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import {
  anyPatterns,
  groupPattern,
  type ListedUser,
  ListedUsers,
  ruleForGroups,
  userPattern,
} from '../foreign/audiences.js';
import { isPossible } from '../foreign/foreign-diff.js';
import { compareFindings, importFinding, type ImportFinding } from './import-finding.js';
import { type Exclusion, importRules } from './import-rules.js';
import { type Joiner, joinersOf, restrictedNewcomers } from './joiners.js';
import type { ListedName } from './known-names.js';
import { type ListedRules, listedRules } from './listed-rules.js';
import { DifferenceFindings } from './difference-findings.js';
import { withComparableFilters } from '../foreign/equal-filters.js';
import { rulesForUsers } from './programs.js';
import { letsJoinersIn, ungrantableRights, usersWithoutPrincipal } from './ungrantable-rights.js';
import { isOfSystem } from './without-effect.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { unlistedGroups, unlistedUsers } from '../foreign/unlisted-principals.js';

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
      withComparableFilters(forAll.document),
      withComparableFilters(after),
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

/**
 * What joiners do not get although the file gives it to a user of their groups: those of the list who are alike keep it, by name; of a
 * pair of groups, nobody of the list is in both.
 * @param lost of joiners and of users of the list
 */
function findingsOfJoiners(
  reported: DifferenceFindings,
  lost: readonly AccessDifference[],
  joiners: readonly Joiner[],
): ImportFinding[] {
  const known = new Map(joiners.map((joiner) => [joiner.name, joiner]));
  const ofMembers = lost.filter(isOfMembers);
  const findings = (code: 'import-joiners' | 'import-combinations', why: string): ImportFinding[] => {
    const ofThem = ofMembers.flatMap((difference) => {
      const losing = new Set(difference.people);
      const isLostByListed = difference.people.some((name) => !known.has(name));
      const isLostAlone = (group: string): boolean =>
        difference.people.some((name) => known.get(name)?.groups.join('\0') === group);
      const people = difference.people.filter((name) => {
        const joiner = known.get(name);
        if (joiner === undefined || joiner.knownAs !== undefined) return false;
        if ((joiner.isPair === true) !== (code === 'import-combinations')) return false;
        if (joiner.isPair && joiner.groups.some(isLostAlone)) return false;
        return joiner.like.length === 0 ? !isLostByListed : !joiner.like.some((each) => losing.has(each));
      });
      return people.length === 0 ? [] : [{ ...difference, people }];
    });
    return reported.atRules(code, ofThem, why).map((finding) => {
      const found = finding.people.flatMap((name) => known.get(name) ?? []);
      const combinations = found.map(({ groups }) => (groups.length === 0 ? 'no group' : groups.join(' and ')));
      const people = [...new Set(found.flatMap(({ like }) => like))].sort();
      const more = combinations.splice(MOST_NAMED).length;
      const who = `who joins ${[...combinations, ...(more > 0 ? [`${more} more`] : [])].join(', or ')}`;
      return { ...finding, people, what: finding.what.map((each) => `${who}: ${each}`) };
    });
  };
  return [
    ...findings(
      'import-joiners',
      'no grant to a group says it: those of the list have it by name, also when they leave the group',
    ),
    ...findings(
      'import-combinations',
      'nobody of the list is in both groups, and what is kept from one of them is kept from those of both',
    ),
  ];
}

/** Combinations in a line. */
const MOST_NAMED = 20;

/** What users keep whom a rule of the file names, when they leave a group without which the file does not give it to them. */
function findingsOfLeavers(
  reported: DifferenceFindings,
  kept: readonly AccessDifference[],
  joiners: readonly Joiner[],
): ImportFinding[] {
  const names = new Map(joiners.map(({ name, knownAs = name }) => [name, knownAs]));
  const why = 'a rule names them, and another one their groups: no grant and no deny says both';
  return reported.atRules('import-leavers', kept.filter(isOfMembers), why).map((finding) => ({
    ...finding,
    people: [...new Set(finding.people.map((name) => names.get(name) ?? name))].sort(),
  }));
}

/** The rest is a setting, is about who is in the list, or has no effect. */
function isOfMembers({ fact }: AccessDifference): boolean {
  return !['session-property', 'catalog-mode', 'impersonation'].includes(fact.about) && !isOfSystem(fact);
}

/** Users and groups whom rules give something and the list has not. The service's own accounts have rules of their own. */
function findingsOfList(
  rules: ForeignRules,
  users: readonly ListedUser[],
  { serviceAccounts }: SnapshotSettings,
  patterns: PatternCache,
): ImportFinding[] {
  const own = serviceAccounts.map((name) => ({ name, groups: [] }));
  const { names, rule } = unlistedUsers(rules, [...users, ...own], patterns);
  const [what, why] = [['what rules give them'], 'the list has not got them'];
  const newcomers = restrictedNewcomers(rules, [...users, ...own], patterns);
  return [
    ...groupFindings(rules, users, patterns),
    ...(newcomers.rule === null ? [] : [newcomersFinding(newcomers.names, newcomers.rule)]),
    ...(rule === null ? [] : [importFinding('import-users-missing', names, what, why, placeOf(rule, userPattern))]),
  ];
}

function newcomersFinding(names: readonly string[], rule: ForeignRule): ImportFinding {
  const what = [`what rules keep from ${firstNames(names, MOST_NAMED)}`];
  const why =
    'the list has not got them: who comes under such a name, or into such a group, has what the rules behind give';
  return importFinding(
    'import-newcomers',
    [],
    what,
    why,
    placeOf(rule, (each) => userPattern(each) ?? groupPattern(each)),
  );
}

/** A file with rules for groups is nearly always meant for users with some. */
function groupFindings(rules: ForeignRules, users: readonly ListedUser[], patterns: PatternCache): ImportFinding[] {
  const what = ['what rules for groups give'];
  if (users.some(({ groups }) => groups.length > 0)) {
    const { names, rule } = unlistedGroups(rules, users, patterns);
    const why = `nobody of the list is in ${names.join(', ')}`;
    return rule === null ? [] : [importFinding('import-groups-missing', [], what, why, placeOf(rule, groupPattern))];
  }
  const rule = ruleForGroups(rules);
  if (rule === undefined) return [];
  const [people, why] = [users.map(({ name }) => name), 'the list gives nobody a group'];
  return [importFinding('import-no-groups', people, what, why, placeOf(rule, groupPattern))];
}

function placeOf(
  rule: ForeignRule,
  pattern: (rule: ForeignRule) => ForeignPattern | undefined,
): Pick<ImportFinding, 'rule' | 'at'> {
  return { rule: rule.place, at: pattern(rule)?.at ?? rule.at };
}
