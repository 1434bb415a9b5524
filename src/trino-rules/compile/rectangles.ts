import type { Bitset } from './bitset.js';
import { type Costs, cover } from './covering.js';
import { getOrInsert } from './get-or-insert.js';

/** One of several siblings (tables of a schema, schemas of a catalog, catalogs), with the users of each effect. */
export interface Sibling<Effect> {
  name: string;
  /** Parts with disjoint `may`. */
  parts: readonly Part<Effect>[];
  /** All users with access here. A denial for all users has to follow the rules of these. */
  holders: Bitset;
}

export interface Part<Effect> {
  effect: Effect;
  /** Orders effects by access, because users with more access are mostly a subset of those with less. 0: no access. */
  rank: number;
  /** Users who need a rule here, because the next broader rule has another effect. */
  must: Bitset;
  /** All users with this effect here, by any rule. */
  may: Bitset;
}

/** A future rule: these users get this effect on these siblings. */
export interface Rectangle<Effect> {
  effect: Effect;
  /** Null: all users; only for a denial. */
  people: Bitset | null;
  names: string[];
}

/** Bytes of one more person, one more sibling, and a rule without either. */
export type CostOf<Effect> = Omit<Costs, 'rule'> & { rule(effect: Effect): number };

/**
 * Few rectangles of people × siblings, in the order of their rules. Since the first matching rule decides, a rectangle may also cover
 * users for whom an earlier one decides, or who have the same effect by the next broader rule. Rectangles with more access come first,
 * denials come last, because they can then be for all remaining users.
 */
export function rectangles<O>(siblings: readonly Sibling<O>[], cost: CostOf<O>): Rectangle<O>[] {
  const decided = new Map<Sibling<O>, Bitset>();
  return byEffect(siblings).flatMap(({ effect, rank, rows }) => {
    const isClosed = ({ sibling }: Row<O>) =>
      rank === 0 && (sibling.holders.isEmpty() || decided.get(sibling)?.contains(sibling.holders) === true);
    const closed = rows.filter(isClosed).map(({ sibling }) => sibling.name);
    const open = rows.filter((row) => !isClosed(row));
    const cells = open.map(({ sibling, must, may }) => ({ must, may: () => decided.get(sibling)?.or(may) ?? may }));
    const covered = cover(cells, { ...cost, rule: cost.rule(effect) }).flatMap(({ people, rows: covers }) => {
      const there = covers.flatMap((row) => open[row]?.sibling ?? []);
      // A rectangle that earlier ones cover would never decide.
      if (there.every((sibling) => decided.get(sibling)?.contains(people))) return [];
      for (const sibling of there) decided.set(sibling, decided.get(sibling)?.or(people) ?? people);
      return [{ effect, people, names: there.map(({ name }) => name) }];
    });
    return closed.length > 0 ? [...covered, { effect, people: null, names: closed }] : covered;
  });
}

interface Row<O> {
  sibling: Sibling<O>;
  must: Bitset;
  may: Bitset;
}

/** The rows of each effect; the largest effect first, denials last. */
function byEffect<O>(siblings: readonly Sibling<O>[]): { effect: O; rank: number; rows: Row<O>[] }[] {
  const found = new Map<string, { effect: O; rank: number; rows: Row<O>[]; key: string }>();
  const keys = new Map<O, string>();
  for (const sibling of siblings) {
    for (const { effect, rank, must, may } of sibling.parts) {
      if (must.isEmpty()) continue;
      const key = getOrInsert(keys, effect, () => JSON.stringify(effect));
      getOrInsert(found, key, () => ({ effect, rank, rows: [], key })).rows.push({ sibling, must, may });
    }
  }
  return [...found.values()].sort((a, b) => b.rank - a.rank || b.key.length - a.key.length || (a.key < b.key ? -1 : 1));
}
