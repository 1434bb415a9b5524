import type { Snapshot } from '../../grants/domain/snapshot.js';
import { deadRules } from './dead-rules.js';
import { EngineSets } from './engine-sets.js';
import type { Finding } from '../rules/finding.js';
import { checkInvariants } from './invariants.js';
import { NameSpace } from '../rules/name-space.js';
import { People } from './people.js';
import { prove } from './proof.js';
import { Roster } from './roster.js';
import { readRules } from '../rules/rules-reader.js';

/**
 * Everything that must hold before rules are published, judged on their text, in this order: the strict reader, the
 * invariants of the source document, the proof against the snapshot, no dead rules. A finding of severity `error` stops
 * the publication. Size is the target's business: see `size.ts`.
 */
export function checkRules(text: string | Uint8Array, snapshot: Snapshot): Finding[] {
  const reading = readRules(text);
  if (reading.kind === 'refused') return reading.findings;
  const rules = reading.document;
  const space = new NameSpace();
  const roster = new Roster(snapshot);
  const people = new People(
    roster.list.map(({ name }) => name),
    rules,
  );
  return [
    ...checkInvariants(rules, snapshot.settings, people),
    ...prove(new EngineSets(rules, space, people), snapshot, roster),
    ...deadRules(rules, people, space, 'error'),
  ];
}
