import type { Finding } from '../document/finding.js';
import { readRules } from '../document/rules-reader.js';
import { BudgetExceeded, WorkBudget } from '../document/work-budget.js';
import { checkInvariants } from '../lint/invariants.js';
import { checkMarker, openPatternFindings } from '../lint/open-patterns.js';
import { unreachableRules } from '../lint/unreachable-rules.js';
import { namesOf, nodeKey } from '../model/node.js';
import type { Snapshot } from '../model/snapshot.js';
import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { EngineSets } from '../engine/engine-sets.js';
import { UserUniverse } from '../engine/user-universe.js';
import { GuaranteeJudge, MAX_WITNESSES } from './guarantee-judge.js';
import { type FormerBreachTest, type JudgedRules, verdictsOf } from '../answers/guarantee-verdicts.js';
import { PrincipalIndex } from './principal-index.js';
import { prove } from './proof.js';

/** The limit of work steps for a text of up to one mebibyte: some seconds of work. The limit for a longer text is higher in proportion. */
const COST_PER_MEBIBYTE = 150_000_000;
const MEBIBYTE = 1_048_576;
/** Work steps for each pair of a policy and a node that a grant or policy names: COST_PER_ENTRY, plus COST_PER_WORD for every 32 users. */
const COST_PER_ENTRY = 800;
const COST_PER_WORD = 12;
const COST_PER_OWNER = 1_000; // for each pair of a user and a grant or policy about queries

/**
 * All checks of rules before they are published, in this order: strict reading, complete patterns, version marker, invariants, the proof
 * against the snapshot, unreachable rules. A finding of severity `error` stops the publication. `target-capacity.ts` checks the size.
 */
export function checkRules(source: string | Uint8Array, snapshot: Snapshot): Finding[] {
  return judgeRules(source, snapshot).findings;
}

/**
 * Like `checkRules`, but also returns verdicts on guarantees.
 * @param maxBreaches limit of the breaches that are listed for each guarantee
 * @param isFormerBreach breaches for which this test returns true are counted but not listed
 */
export function judgeRules(
  source: string | Uint8Array,
  snapshot: Snapshot,
  maxBreaches = MAX_WITNESSES,
  isFormerBreach: FormerBreachTest | null = null,
): JudgedRules {
  const judgedRules: JudgedRules = { findings: [], verdicts: [], breaches: new Map() };
  const readResult = readRules(source);
  if (readResult.kind === 'refused') return { ...judgedRules, findings: readResult.findings };
  const { settings } = snapshot;
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
  const findings = withEngine(readResult.document, snapshot, checkBudget(text, snapshot), (engine, _, principals) => {
    const positionsOf = principals.resolvePrincipal.bind(principals);
    const ownersOf = principals.resolveOwners.bind(principals);
    const resolver = { positionsOf, ownersOf, metadataCatalog: settings.metadataCatalog };
    const judge = snapshot.guarantees ? new GuaranteeJudge(snapshot.guarantees, engine, resolver, maxBreaches) : null;
    return [
      ...checkMarker(text, engine.rules, settings.ownAccount, engine.universe),
      ...checkInvariants(engine, settings),
      ...prove(engine, snapshot, principals, judge),
      ...(judge
        ? Object.assign(judgedRules, verdictsOf(judge, engine.rules, snapshot, principals, isFormerBreach)).findings
        : []),
      ...unreachableRules(engine.rules, engine.universe, engine.patterns),
    ];
  });
  return { ...judgedRules, findings };
}

export function checkBudget(text: string, snapshot: Snapshot): WorkBudget {
  return new WorkBudget(COST_PER_MEBIBYTE * Math.max(1, text.length / MEBIBYTE) + proofSteps(snapshot));
}

function proofSteps({ users, grants, policies, guarantees = [] }: Snapshot): number {
  const nodeKeys = [...grants, ...policies].map(({ resource }) => nodeKey(resource));
  const stepsPerNode = COST_PER_ENTRY + COST_PER_WORD * (users.length / 32 + 1);
  const queryEntries = [...grants, ...policies].filter(({ resource }) => resource.queries !== undefined);
  // For guarantees about queries, two rights are judged for each owner: viewing and killing.
  const rightCount = guarantees.some(({ scopes }) => scopes.some(({ resource }) => resource.queries !== undefined))
    ? 2
    : 0;
  const ownerSteps = COST_PER_OWNER * users.length * (queryEntries.length + rightCount);
  return stepsPerNode * new Set(nodeKeys).size * (policies.length + 1) + ownerSteps;
}

/** Calls `judge` for rules. Returns an error instead if the names that a pattern matches cannot all be listed, or if the work exceeds `budget`. */
export function withEngine(
  rules: RulesDocument,
  snapshot: Snapshot,
  budget: WorkBudget,
  judge: (engine: EngineSets, snapshot: Snapshot, principals: PrincipalIndex) => Finding[],
): Finding[] {
  try {
    const principals = new PrincipalIndex(snapshot);
    const knownNames = principals.subjects.map(({ name }) => name);
    const patterns = new PatternCache(budget);
    const users = new UserUniverse(knownNames, [rules], patterns);
    patterns.markSpelled(namesIn(snapshot));
    // All patterns must be read before `freshName` invents a name, because no pattern may spell out that name.
    for (const { new_user } of rules.impersonation) patterns.language(new_user);
    for (const { queryOwner } of rules.queries) patterns.language(queryOwner);
    const patternFindings = openPatternFindings(rules, patterns, users);
    if (patternFindings.length > 0) return patternFindings;
    const engine = new EngineSets(rules, patterns, users);
    return patterns.spellsFreshCompanion
      ? [undecidedFinding('the rules spell a name that stands for others, so that nothing is proved')]
      : judge(engine, snapshot, principals);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return [undecidedFinding('the rules combine more names and people than can be checked, so that nothing is proved')];
  }
}

function undecidedFinding(message: string): Finding {
  return { code: 'proof-undecided', severity: 'error', message };
}

function namesIn({ grants, policies, settings, guarantees = [] }: Snapshot): string[] {
  const { writableCatalogs, readableCatalogs, metadataCatalog, sessionProperties } = settings;
  const scopes = guarantees.flatMap((guarantee) => guarantee.scopes);
  const nodes = [...grants, ...policies, ...scopes].flatMap(({ resource }) => [
    ...namesOf(resource),
    resource.routine ?? '',
  ]);
  const closedCatalogs = metadataCatalog === null ? [] : [metadataCatalog];
  return [...nodes, ...writableCatalogs, ...readableCatalogs, ...closedCatalogs, ...sessionProperties];
}
