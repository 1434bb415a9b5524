import { intentSets } from '../../grants/domain/intent-sets.js';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import { subjectsOf } from '../../grants/domain/subject.js';
import { Counterexamples } from './counterexample.js';
import { Differences } from './difference.js';
import { EngineSets } from './engine-sets.js';
import type { Finding } from './finding.js';
import { NameSpace } from './name-space.js';
import { People } from './people.js';
import { proveData } from './proof-of-data.js';
import { proveRights } from './proof-of-rights.js';
import type { RulesDocument } from './rules-document.js';

/** How many counterexamples are told; the last finding counts the others. */
const TOLD = 20;

/**
 * Proves that the engine, with these rules, gives everybody exactly what the snapshot means: people, engine principals,
 * service accounts, every name that a pattern of users lets in besides, and a stranger. Complete: see `proveData`.
 * Any difference is an error with a counterexample; a pattern that cannot be enumerated is an error too.
 */
export function proveRules(rules: RulesDocument, snapshot: Snapshot): Finding[] {
  const space = new NameSpace();
  const undecided = openPatterns(rules, space);
  if (undecided.length > 0) return undecided;
  const known = subjectsOf(snapshot).list.map(({ name }) => name);
  const people = new People(known, rules);
  const engine = new EngineSets(rules, space, people);
  const intent = intentSets(snapshot, people.strangers);
  const { list } = intent.subjects;
  const differences = new Differences(list, TOLD);
  proveData(engine, intent, differences);
  proveRights({ rules, space, engine, intent, snapshot, differences });
  return told(differences, new Counterexamples(rules, snapshot));
}

function told({ found, total }: Differences, counterexamples: Counterexamples): Finding[] {
  const findings = found.map((difference) => counterexamples.finding(difference));
  if (total <= found.length) return findings;
  const message = `${total - found.length} more differences between the rules and the grants are not told here`;
  return [...findings, { code: 'proof-difference', severity: 'error', message }];
}

/** Patterns of objects must be `.*` or name finitely many: between two open ones there may be names that no question asks. */
function openPatterns(rules: RulesDocument, space: NameSpace): Finding[] {
  const objects: Record<keyof RulesDocument, readonly string[]> = {
    catalogs: ['catalog'],
    schemas: ['catalog', 'schema'],
    tables: ['catalog', 'schema', 'table'],
    queries: [],
    impersonation: [],
    functions: ['catalog', 'schema', 'function'],
    procedures: ['catalog', 'schema', 'procedure'],
    system_session_properties: [],
    catalog_session_properties: ['catalog'],
  };
  return Object.entries(rules).flatMap(([section, list]: [string, readonly object[]]) =>
    list.flatMap((rule, index) =>
      Object.entries(rule).flatMap(([key, pattern]: [string, unknown]): Finding[] => {
        const isObject = Object.entries(objects).some(([name, keys]) => name === section && keys.includes(key));
        if (!isObject || typeof pattern !== 'string' || space.meaning(pattern).kind !== 'open') return [];
        const message = `the ${key} of rule ${section}[${index}] means names that cannot be enumerated: ${pattern}`;
        return [
          { code: 'proof-undecided', severity: 'error', message, rule: `${section}[${index}]`, witness: pattern },
        ];
      }),
    ),
  );
}
