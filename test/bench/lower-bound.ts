import type { Bitset } from '../../src/trino-rules/compile/bitset.js';
import { intentSets } from '../../src/trino-rules/compile/intent-sets.js';
import { anyOf } from '../../src/trino-rules/compile/name-pattern.js';
import { siblingNodes } from '../../src/trino-rules/compile/table-rules.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';

/**
 * What no table rules of people × siblings can go below: for each parent and effect, everybody whom a rule must tell has to
 * be named in one of its rules at least once, and every sibling too. `bytes` writes that down with our own patterns, as if one
 * rule for each parent and effect were enough.
 */
export function floor(snapshot: Snapshot): { named: number; bytes: number } {
  const intent = intentSets(snapshot);
  const { subjects } = intent.principals;
  let named = 0;
  let bytes = 0;
  for (const { siblings, level, where } of siblingNodes(intent)) {
    const effects = new Map<string, { people: Bitset; siblings: string[]; effect: object }>();
    for (const { name, parts } of siblings) {
      for (const { effect, must } of parts) {
        const key = JSON.stringify(effect);
        const known = effects.get(key) ?? { people: must, siblings: [], effect };
        if (must.isEmpty()) continue;
        effects.set(key, { ...known, people: known.people.or(must), siblings: [...known.siblings, name] });
      }
    }
    for (const { people: told, siblings: names, effect } of effects.values()) {
      named += told.count();
      const user = anyOf(told.members().map((position) => subjects[position]?.name ?? ''));
      bytes += Buffer.byteLength(JSON.stringify({ user, ...where, [level]: anyOf(names), ...effect })) + 2;
    }
  }
  return { named, bytes };
}
