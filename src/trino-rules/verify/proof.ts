import type { Finding } from '../document/finding.js';
import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { BudgetExceeded, type WorkBudget } from '../document/work-budget.js';
import { EngineSets } from '../engine/engine-sets.js';
import { UserUniverse } from '../engine/user-universe.js';
import { openPatterns } from '../lint/open-patterns.js';
import { namesOf } from '../model/node.js';
import type { Snapshot } from '../model/snapshot.js';
import { Counterexamples } from './counterexample.js';
import { Differences } from './differences.js';
import { ExpectedActing } from './expected-acting.js';
import { expectedOnEngine } from './expected-engine.js';
import { ExpectedQueries } from './expected-queries.js';
import { ExpectedRoutines } from './expected-routines.js';
import { PrincipalIndex } from './principal-index.js';
import { proveData } from './proof-of-data.js';
import { proveRights } from './proof-of-rights.js';

/** The last finding counts the others. */
const MAX_COUNTEREXAMPLES = 20;

/**
 * Proves that the engine, with its rules, gives every principal exactly the intent of the snapshot: users, engine principals,
 * service accounts, every name that a pattern of users matches besides, and a stranger. Complete, because every pattern is a
 * list of names (`openPatterns`): see `proveData`. Any difference is an error with a counterexample.
 * @param engine numbers users as the principals does, and after them all others
 */
export function prove(engine: EngineSets, snapshot: Snapshot, principals: PrincipalIndex): Finding[] {
  const strangers = engine.people.strangers.map((name) => ({ kind: 'stranger', name }) as const);
  const differences = new Differences([...principals.subjects, ...strangers], MAX_COUNTEREXAMPLES);
  const routines = new ExpectedRoutines(snapshot, principals, engine.width);
  const onEngine = expectedOnEngine(snapshot, principals, engine.width);
  const queries = new ExpectedQueries(snapshot, principals, engine, onEngine);
  const reaching = proveData(engine, snapshot, principals, { routines, onEngine, queries }, differences);
  const acting = new ExpectedActing(snapshot, principals, engine);
  proveRights(engine, snapshot, principals, { reaching, routines, onEngine, queries, acting }, differences);
  return findingsOf(differences, engine, snapshot);
}

/** Judges rules whose patterns are all complete, within a budget; where either is not so, nothing is proved. */
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
    patterns.take(namesIn(snapshot));
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

/** What the snapshot calls catalogs, schemas, tables and session properties. */
function namesIn({ grants, policies, settings }: Snapshot): string[] {
  const { writableCatalogs, readableCatalogs, metadataCatalog, sessionProperties } = settings;
  const nodes = [...grants, ...policies].flatMap(({ resource }) => [...namesOf(resource), resource.routine ?? '']);
  const closed = metadataCatalog === null ? [] : [metadataCatalog];
  return [...nodes, ...writableCatalogs, ...readableCatalogs, ...closed, ...sessionProperties];
}

function findingsOf({ found, total }: Differences, { rules, patterns }: EngineSets, snapshot: Snapshot): Finding[] {
  const counterexamples = new Counterexamples(rules, snapshot, patterns);
  const findings = found.map((difference) => counterexamples.finding(difference));
  if (total <= found.length) return findings;
  const message = `${total - found.length} more differences between the rules and the grants are not told here`;
  return [...findings, { code: 'proof-difference', severity: 'error', message }];
}
