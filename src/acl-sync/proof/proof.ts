import type { Snapshot } from '../../grants/domain/snapshot.js';
import { Counterexamples } from './counterexample.js';
import { Differences } from './difference.js';
import { EngineSets } from './engine-sets.js';
import type { Finding } from '../rules/finding.js';
import { NameSpace } from '../rules/name-space.js';
import { People } from './people.js';
import { proveData } from './proof-of-data.js';
import { proveRights } from './proof-of-rights.js';
import { MARKER } from './rights.js';
import { Roster } from './roster.js';
import { isOpen, patternOf, RULE_PATTERNS } from '../rules/rule-patterns.js';
import { ruleText } from '../rules/rule-text.js';
import type { RulesDocument } from '../rules/rules-document.js';

/** How many counterexamples are told; the last finding counts the others. */
const TOLD = 20;

/**
 * Proves that the engine, with these rules, gives everybody exactly what the snapshot means: people, engine principals,
 * service accounts, every name that a pattern of users lets in besides, and a stranger. Complete: see `proveData`.
 * Any difference is an error with a counterexample; so is a pattern that cannot be enumerated.
 */
export function proveRules(rules: RulesDocument, snapshot: Snapshot): Finding[] {
  const roster = new Roster(snapshot);
  return prove(engineFor(rules, roster), snapshot, roster);
}

/** The same; `engine` numbers people as the roster does, and after them all others. */
export function prove(engine: EngineSets, snapshot: Snapshot, roster: Roster): Finding[] {
  const differences = differencesOf(engine, snapshot, roster);
  return differences.total === 0 ? openPatterns(engine.rules) : told(differences, engine.rules, snapshot);
}

function engineFor(rules: RulesDocument, { list }: Roster): EngineSets {
  const known = list.map(({ name }) => name);
  return new EngineSets(rules, new NameSpace(), new People(known, rules));
}

function differencesOf(engine: EngineSets, snapshot: Snapshot, roster: Roster): Differences {
  const strangers = engine.people.strangers.map((name) => ({ kind: 'stranger', name }) as const);
  const differences = new Differences([...roster.list, ...strangers], TOLD);
  const reaching = proveData(engine, snapshot, roster, differences);
  proveRights(engine, snapshot, roster, reaching, differences);
  return differences;
}

function told({ found, total }: Differences, rules: RulesDocument, snapshot: Snapshot): Finding[] {
  const counterexamples = new Counterexamples(rules, snapshot);
  const findings = found.map((difference) => counterexamples.finding(difference));
  if (total <= found.length) return findings;
  const message = `${total - found.length} more differences between the rules and the grants are not told here`;
  return [...findings, { code: 'proof-difference', severity: 'error', message }];
}

/**
 * A pattern must be `.*` or name finitely many: between two open ones there may be names that no question asks. Only the
 * marker's denial is open, and it stands alone.
 */
function openPatterns(rules: RulesDocument): Finding[] {
  return RULE_PATTERNS.flatMap(([section, ...keys]) =>
    rules[section].flatMap((rule, index) =>
      keys.flatMap((key): Finding[] => {
        const pattern = patternOf(rule, key);
        if (!isOpen(pattern) || pattern === `${MARKER}.*`) return [];
        const at = `${section}[${index}]`;
        const message = `the ${key} of rule ${at} means names that cannot be enumerated, so that nothing is proved`;
        return [{ code: 'proof-undecided', severity: 'error', message, rule: at, witness: ruleText(rule) }];
      }),
    ),
  );
}
