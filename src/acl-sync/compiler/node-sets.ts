import type { Bits } from './bits.js';
import { addTo, type NodeState } from './node-state.js';
import { PRIVILEGES, type Privilege } from '../../grants/domain/privilege.js';

/** What holds at one node, and below it wherever nothing narrower is named: for each thing, the set of those it holds for. */
export interface NodeSets {
  /** On a catalog or a schema, OWNERSHIP is the engine's schema ownership. */
  privileges: Readonly<Record<Privilege, Bits>>;
  /** Everybody with any privilege; whoever is not in it has no filter, no hidden column and no mask either. */
  reached: Bits;
  /** By the text of the joined filter; the sets do not meet, and whoever is in none has no filter. */
  filters: ReadonlyMap<string, Bits>;
  /** By column. */
  hidden: ReadonlyMap<string, Bits>;
  /** By column, then by expression; nobody for whom the column is hidden. */
  masks: ReadonlyMap<string, ReadonlyMap<string, Bits>>;
  /** By column: those for whom two masks at the same distance made it hidden. */
  conflicts: ReadonlyMap<string, Bits>;
}

/** What holds at a node, without empty sets. */
export function setsOf({ none, given, taken, filters, hidden, masks, conflicts }: NodeState): NodeSets {
  const left = PRIVILEGES.map((privilege) => [privilege, given[privilege].minus(taken[privilege])] as const);
  const privileges = { ...given, ...Object.fromEntries(left) };
  const reached = left.reduce((any, [, holders]) => any.or(holders), none);
  const clashing = within(conflicts, reached);
  const hiding = within(hidden, reached);
  for (const [column, means] of clashing) addTo(hiding, column, means);
  const masking = new Map<string, Map<string, Bits>>();
  for (const [column, byExpression] of masks) {
    const seen = within(byExpression, reached.minus(hiding.get(column) ?? none));
    if (seen.size > 0) masking.set(column, seen);
  }
  return {
    privileges,
    reached,
    filters: joined(filters, reached),
    hidden: hiding,
    masks: masking,
    conflicts: clashing,
  };
}

/** The distinct conjunctions of the filters, each with those who have exactly it. */
function joined(filters: ReadonlyMap<string, Bits>, reached: Bits): Map<string, Bits> {
  let parts: { expressions: string[]; means: Bits }[] = [{ expressions: [], means: reached }];
  for (const [expression, filtered] of filters) {
    parts = parts.flatMap(({ expressions, means }) => [
      { expressions: [...expressions, expression], means: means.and(filtered) },
      { expressions, means: means.minus(filtered) },
    ]);
    parts = parts.filter(({ means }) => !means.isEmpty());
  }
  return new Map(
    parts.flatMap(({ expressions, means }) => {
      const conjuncts = expressions.sort().map((expression) => `(${expression})`);
      return conjuncts.length === 0 ? [] : [[conjuncts.join(' AND '), means] as const];
    }),
  );
}

function within(sets: ReadonlyMap<string, Bits>, reached: Bits): Map<string, Bits> {
  const left = [...sets].map(([key, means]) => [key, means.and(reached)] as const);
  return new Map(left.filter(([, means]) => !means.isEmpty()));
}
