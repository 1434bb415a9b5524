import type { Finding } from '../document/finding.js';
import { readRules } from '../document/rules-reader.js';
import { BudgetExceeded, WorkBudget } from '../document/work-budget.js';
import { checkInvariants } from '../lint/invariants.js';
import { checkMarker, openPatterns } from '../lint/open-patterns.js';
import { unreachableRules } from '../lint/unreachable-rules.js';
import { namesOf, nodeKey } from '../model/node.js';
import type { Snapshot } from '../model/snapshot.js';
import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { EngineSets } from '../engine/engine-sets.js';
import { UserUniverse } from '../engine/user-universe.js';
import { Counterexamples, Differences } from './counterexample.js';
import { ExpectedActing, expectedOnEngine, ExpectedQueries } from './expected-engine.js';
import { ExpectedRoutines } from './expected-routines.js';
import { GuaranteeJudge, MOST_WITNESSES } from './guarantee-judge.js';
import { type FormerBreaches, type JudgedRules, verdictsOf } from '../answers/guarantee-verdicts.js';
import { PrincipalIndex } from './principal-index.js';
import { proveData } from './proof-of-data.js';
import { proveRights } from './proof-of-rights.js';

/** Budget for a text of up to one mebibyte: some seconds. Larger texts get more in proportion. */
const STEPS_PER_MEBIBYTE = 150_000_000;
const MEBIBYTE = 1_048_576;
/** Budget for one grant or policy at one node, and for every 32 users there. */
const STEPS_PER_THING = 800;
const STEPS_PER_WORD = 12;
/** Budget for each user and entry about queries of some owners. */
const STEPS_PER_OWNER = 1_000;

/**
 * All checks of a text before it is published, in this order: the strict reader, complete patterns, the marker, the invariants, the
 * proof against the snapshot, no dead rules. A finding of severity `error` stops the publication. `target-capacity.ts` checks the size.
 */
export function checkRules(source: string | Uint8Array, snapshot: Snapshot): Finding[] {
  return judgeRules(source, snapshot).findings;
}

/**
 * As `checkRules`, with verdicts on guarantees.
 * @param most breaches of each guarantee that are kept
 * @param former its breaches are no witnesses
 */
export function judgeRules(
  source: string | Uint8Array,
  snapshot: Snapshot,
  most = MOST_WITNESSES,
  former: FormerBreaches | null = null,
): JudgedRules {
  const judged: JudgedRules = { findings: [], verdicts: [], breaches: new Map() };
  const reading = readRules(source);
  if (reading.kind === 'refused') return { ...judged, findings: reading.findings };
  const { settings } = snapshot;
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
  const findings = withEngine(reading.document, snapshot, checkBudget(text, snapshot), (engine, _, principals) => {
    const positionsOf = principals.resolvePrincipal.bind(principals);
    const users = { positionsOf, metadataCatalog: settings.metadataCatalog };
    const judge = snapshot.guarantees ? new GuaranteeJudge(snapshot.guarantees, engine, users, most) : null;
    return [
      ...checkMarker(text, engine.rules, settings.ownAccount, engine.people),
      ...checkInvariants(engine, settings),
      ...prove(engine, snapshot, principals, judge),
      ...(judge ? Object.assign(judged, verdictsOf(judge, engine, snapshot, principals, former)).findings : []),
      ...unreachableRules(engine.rules, engine.people, engine.patterns),
    ];
  });
  return { ...judged, findings };
}

export function checkBudget(text: string, snapshot: Snapshot): WorkBudget {
  return new WorkBudget(STEPS_PER_MEBIBYTE * Math.max(1, text.length / MEBIBYTE) + stepsFor(snapshot));
}

/** Budget for the snapshot: all users at each named node with each policy, and as owners of queries. */
function stepsFor({ users, grants, policies, guarantees = [] }: Snapshot): number {
  const named = [...grants, ...policies].map(({ resource }) => nodeKey(resource));
  const each = STEPS_PER_THING + STEPS_PER_WORD * (users.length / 32 + 1);
  const ofQueries = [...grants, ...policies].filter(({ resource }) => resource.queries !== undefined);
  // For a guarantee about the queries of some owners, viewing and killing are evaluated for each owner, even without grants.
  const asked = guarantees.some(({ scopes }) => scopes.some(({ resource }) => resource.queries !== undefined)) ? 2 : 0;
  const owners = STEPS_PER_OWNER * users.length * (ofQueries.length + asked);
  return each * new Set(named).size * (policies.length + 1) + owners;
}

/** Limit of the reported differences. A last finding counts the remaining ones. */
const MAX_COUNTEREXAMPLES = 20;

/**
 * Proves that the rules give every principal exactly the intent of the snapshot: users, engine principals, service accounts, every other
 * name that a pattern of users matches, and a stranger. Complete, because every pattern is a list of names (`openPatterns`): see
 * `proveData`. Any difference is an error with a counterexample. The engine numbers users as `principals` does, then all others.
 * @param judge sees all access by the rules; null: there are no guarantees
 */
export function prove(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  judge: GuaranteeJudge | null = null,
): Finding[] {
  const strangers = engine.people.strangers.map((name) => ({ kind: 'stranger', name }) as const);
  const differences = new Differences([...principals.subjects, ...strangers], MAX_COUNTEREXAMPLES, judge);
  const routines = new ExpectedRoutines(snapshot, principals, engine.width);
  const onEngine = expectedOnEngine(snapshot, principals, engine.width);
  const queries = new ExpectedQueries(snapshot, principals, engine, onEngine);
  const reaching = proveData(engine, snapshot, principals, { routines, onEngine, queries }, differences);
  const acting = new ExpectedActing(snapshot, principals, engine);
  proveRights(engine, snapshot, principals, { reaching, routines, onEngine, queries, acting }, differences);
  return findingsOf(differences, engine, snapshot);
}

/** Judges rules within a budget. Returns an error if a pattern is not complete, or the budget is exceeded. */
export function withEngine(
  rules: RulesDocument,
  snapshot: Snapshot,
  budget: WorkBudget,
  judge: (engine: EngineSets, snapshot: Snapshot, principals: PrincipalIndex) => Finding[],
): Finding[] {
  try {
    const principals = new PrincipalIndex(snapshot);
    const known = principals.subjects.map(({ name }) => name);
    const patterns = new PatternCache(budget);
    const users = new UserUniverse(known, [rules], patterns);
    patterns.markSpelled(namesIn(snapshot));
    // Every pattern of a name is read before a fresh name is asked for.
    for (const { new_user } of rules.impersonation) patterns.language(new_user);
    for (const { queryOwner } of rules.queries) patterns.language(queryOwner);
    const open = openPatterns(rules, patterns, users);
    if (open.length > 0) return open;
    const engine = new EngineSets(rules, patterns, users);
    return patterns.spellsFreshCompanion
      ? [undecided('the rules spell a name that stands for others, so that nothing is proved')]
      : judge(engine, snapshot, principals);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return [undecided('the rules combine more names and people than can be checked, so that nothing is proved')];
  }
}

function undecided(message: string): Finding {
  return { code: 'proof-undecided', severity: 'error', message };
}

/** Names of catalogs, schemas, tables, routines and session properties in the snapshot. */
function namesIn({ grants, policies, settings, guarantees = [] }: Snapshot): string[] {
  const { writableCatalogs, readableCatalogs, metadataCatalog, sessionProperties } = settings;
  const scopes = guarantees.flatMap((guarantee) => guarantee.scopes);
  const nodes = [...grants, ...policies, ...scopes].flatMap(({ resource }) => [
    ...namesOf(resource),
    resource.routine ?? '',
  ]);
  const closed = metadataCatalog === null ? [] : [metadataCatalog];
  return [...nodes, ...writableCatalogs, ...readableCatalogs, ...closed, ...sessionProperties];
}

function findingsOf({ found, total }: Differences, { rules, patterns }: EngineSets, snapshot: Snapshot): Finding[] {
  const counterexamples = new Counterexamples(rules, snapshot, patterns);
  const findings = found.map((difference) => counterexamples.finding(difference));
  if (total <= found.length) return findings;
  const message = `${total - found.length} more differences between the rules and the grants are not listed`;
  return [...findings, { code: 'proof-difference', severity: 'error', message }];
}
