import type { ForeignRules } from '../check/foreign-rules.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { type AccessDifference, diffAccess } from '../../trino-rules/diff/access-diff.js';
import { READERS_FILTER, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { conjuncts } from '../../trino-rules/engine/actual-access.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { anyPatterns, type ListedUser } from '../foreign/audiences.js';
import { isPossible } from '../foreign/foreign-diff.js';
import { compareFindings, importFinding, type ImportFinding } from './import-finding.js';
import { type Exclusion, importRules } from './import-rules.js';
import type { ListedName } from './known-names.js';
import { findingsOfList } from './list-findings.js';
import { DifferenceFindings } from './difference-findings.js';
import { withoutParentheses } from '../foreign/equal-filters.js';
import { rulesForUsers } from './programs.js';
import { ungrantableRights, usersWithoutPrincipal } from './ungrantable-rights.js';

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
  for (;;) {
    const snapshot = importRules(given, known, anyPatterns(budget), defaults, excluded, listing);
    const after = compile(snapshot).document;
    const differences = diffAccess(comparable(given.document), comparable(after), budget, anyPatterns(budget));
    const gained = ofUsers(differences.gained, new Set(names));
    const more = gained.filter((each) => !isBasic(each));
    if (more.length === 0) {
      const reported = new DifferenceFindings(file, given, evaluator, anyPatterns(budget), known);
      const next = new Evaluator(after, anyPatterns(budget));
      const lost = reported.ofEffect(ofUsers(differences.lost, new Set(names)), next);
      const [beside, others] = [lost.filter(isBesideStatements), lost.filter((each) => !isBesideStatements(each))];
      const losing = (user: string): boolean => others.some(({ people }) => people.includes(user));
      findings.push(
        ...principalFindings(rules, at, names, strangers.filter(losing)),
        ...queryFindings(rules, at, silent.filter(losing)),
        ...reported.lost([...ofUsers(others, judged), ...ofUsers(beside, letIn)], snapshot, listing.length > 0),
        ...reported.basicAccess(gained),
      );
      return { snapshot, findings: findings.sort(compareFindings) };
    }
    // Where more turns out to be given, a catalog's unnamed parts are left out first, and then all of it.
    const tried = new Set(excluded);
    for (const { fact, people } of more) {
      const catalog = 'resource' in fact ? (fact.resource.catalog ?? null) : null;
      for (const user of people) {
        const isTried = excluded.some((each) => each.user === user && each.catalog === catalog && tried.has(each));
        excluded.push({ user, catalog, isOfUnnamed: catalog !== null && !isTried });
      }
    }
    if (excluded.length > MAX_EXCLUSIONS) throw new Error('the import gives more than the rules, whatever is left out');
  }
}

const MAX_EXCLUSIONS = 1_000_000;

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
function comparable(document: RulesDocument): RulesDocument {
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
