import type { Bits } from '../../src/trino-rules/compile/bits.js';
import { intentSets } from '../../src/trino-rules/compile/intent-sets.js';
import { anyOf } from '../../src/trino-rules/compile/name-pattern.js';
import { siblingNodes } from '../../src/trino-rules/compile/table-rules.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';

/**
 * What no table rules of people × siblings can go below: for each parent and outcome, everybody whom a rule must tell has to
 * be named in one of its rules at least once, and every sibling too. `bytes` writes that down with our own patterns, as if one
 * rule for each parent and outcome were enough.
 */
export function floor(snapshot: Snapshot): { named: number; bytes: number } {
  const intent = intentSets(snapshot);
  const { list } = intent.subjects;
  let named = 0;
  let bytes = 0;
  for (const { siblings, level, where } of siblingNodes(intent)) {
    const outcomes = new Map<string, { people: Bits; siblings: string[]; outcome: object }>();
    for (const { name, parts } of siblings) {
      for (const { outcome, must } of parts) {
        const key = JSON.stringify(outcome);
        const known = outcomes.get(key) ?? { people: must, siblings: [], outcome };
        if (must.isEmpty()) continue;
        outcomes.set(key, { ...known, people: known.people.or(must), siblings: [...known.siblings, name] });
      }
    }
    for (const { people: told, siblings: names, outcome } of outcomes.values()) {
      named += told.count();
      const user = anyOf(told.members().map((position) => list[position]?.name ?? ''));
      bytes += Buffer.byteLength(JSON.stringify({ user, ...where, [level]: anyOf(names), ...outcome })) + 2;
    }
  }
  return { named, bytes };
}
