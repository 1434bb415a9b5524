import type { Bitset } from '../../src/trino-rules/compile/bitset.js';
import { intentSets } from '../../src/trino-rules/compile/intent-sets.js';
import { patternOfNames } from '../../src/trino-rules/compile/name-pattern.js';
import { siblingPatternField } from '../../src/trino-rules/compile/sibling-rules.js';
import { siblingGroups } from '../../src/trino-rules/compile/table-rules.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';

/**
 * The lower bound for table rules of users × siblings: for each parent and effect, every user that needs a rule is named at least
 * once, and so is every sibling. `bytes`: with our own patterns, as if one rule per parent and effect were enough.
 */
export function lowerBound(snapshot: Snapshot): { named: number; bytes: number } {
  const intent = intentSets(snapshot);
  const { subjects } = intent.principals;
  let named = 0;
  let bytes = 0;
  for (const { siblings, scope, parentPatterns } of siblingGroups(intent)) {
    const effects = new Map<string, { people: Bitset; siblings: string[]; effect: object }>();
    for (const { name, effectUsers } of siblings) {
      for (const { effect, requiredUsers: must } of effectUsers) {
        const key = JSON.stringify(effect);
        const known = effects.get(key) ?? { people: must, siblings: [], effect };
        if (must.isEmpty()) continue;
        effects.set(key, { ...known, people: known.people.or(must), siblings: [...known.siblings, name] });
      }
    }
    for (const { people, siblings: names, effect } of effects.values()) {
      named += people.count();
      const user = patternOfNames(people.members().map((position) => subjects[position]?.name ?? ''));
      bytes +=
        Buffer.byteLength(
          JSON.stringify({
            user,
            ...parentPatterns,
            ...siblingPatternField(scope, () => patternOfNames(names)),
            ...effect,
          }),
        ) + 2;
    }
  }
  return { named, bytes };
}
