import type { Bitset } from './bitset.js';
import { type Costs, cover } from './covering.js';
import { getOrInsert } from './get-or-insert.js';

/** One of the nodes under one parent, such as a table of a schema. @typeParam Effect what a rule gives its users, such as privileges */
export interface Sibling<Effect> {
  name: string;
  /** The users of the node by the effect of their rules. No user is in the `allowedUsers` of two effects. */
  effectUsers: readonly EffectUsers<Effect>[];
  /** All users with access to the node. A rule that denies the node to all users must come after the rules that decide for these users. */
  holders: Bitset;
}

export interface EffectUsers<Effect> {
  effect: Effect;
  /** Higher for more access, 0 for no access. Rules with a higher rank come first. */
  rank: number;
  /** Users whose effect at the parent node differs, so that this node needs a rule for them. */
  requiredUsers: Bitset;
  /** Users whom a rule with `effect` may match: `requiredUsers`, and users who have this effect at the parent node. */
  allowedUsers: Bitset;
}

/** The denial at a node for `users`, to whom a rule for the parent node could give access. @param effect an effect that gives nothing */
export function denialUsers<Effect>(effect: Effect, users: Bitset): EffectUsers<Effect> {
  return { effect, rank: 0, requiredUsers: users, allowedUsers: users };
}

/** A rule to be written: these users get this effect on the nodes with these names. */
export interface Rectangle<Effect> {
  effect: Effect;
  /** The users of the rule; null: all users, which is only possible for a denial. */
  people: Bitset | null;
  names: string[];
}

/** The bytes of the parts of a rule, as in `Costs`, except that the fixed bytes (`rule`) depend on the effect of the rule. */
export type CostOf<Effect> = Omit<Costs, 'rule'> & { rule(effect: Effect): number };

/** Finds few rules that give each user the right effect at each node. Each rule is a rectangle: users × nodes under one parent. Rules with more access come first, denials last. */
export function rectangles<O>(siblings: readonly Sibling<O>[], cost: CostOf<O>): Rectangle<O>[] {
  const decidedUsers = new Map<Sibling<O>, Bitset>();
  return rowsByEffect(siblings).flatMap(({ effect, rank, rows }) => {
    const isClosedToAll = ({ sibling }: SiblingRow<O>) =>
      rank === 0 && (sibling.holders.isEmpty() || decidedUsers.get(sibling)?.contains(sibling.holders) === true);
    const closedNames = rows.filter(isClosedToAll).map(({ sibling }) => sibling.name);
    const openRows = rows.filter((row) => !isClosedToAll(row));
    const usersByRow = openRows.map(({ sibling, requiredUsers, allowedUsers }) => ({
      ...{ requiredUsers, allowedUsers: () => decidedUsers.get(sibling)?.or(allowedUsers) ?? allowedUsers },
    }));
    const coverRules = cover(usersByRow, { ...cost, rule: cost.rule(effect) }).flatMap(
      ({ people, rows: coveredRows }) => {
        const coveredSiblings = coveredRows.flatMap((row) => openRows[row]?.sibling ?? []);
        // Leaves out a rule if earlier rules decide for all of its users at all of its nodes.
        if (coveredSiblings.every((sibling) => decidedUsers.get(sibling)?.contains(people))) return [];
        for (const each of coveredSiblings) decidedUsers.set(each, decidedUsers.get(each)?.or(people) ?? people);
        return [{ effect, people, names: coveredSiblings.map(({ name }) => name) }];
      },
    );
    return closedNames.length > 0 ? [...coverRules, { effect, people: null, names: closedNames }] : coverRules;
  });
}

type SiblingRow<O> = Pick<EffectUsers<O>, 'requiredUsers' | 'allowedUsers'> & { sibling: Sibling<O> };

function rowsByEffect<O>(siblings: readonly Sibling<O>[]): { effect: O; rank: number; rows: SiblingRow<O>[] }[] {
  const rowsByKey = new Map<string, { effect: O; rank: number; rows: SiblingRow<O>[]; key: string }>();
  const effectKeys = new Map<O, string>();
  for (const sibling of siblings) {
    for (const { effect, rank, ...users } of sibling.effectUsers) {
      if (users.requiredUsers.isEmpty()) continue;
      const key = getOrInsert(effectKeys, effect, () => JSON.stringify(effect));
      getOrInsert(rowsByKey, key, () => ({ effect, rank, rows: [], key })).rows.push({ sibling, ...users });
    }
  }
  return [...rowsByKey.values()].sort(
    (a, b) => b.rank - a.rank || b.key.length - a.key.length || (a.key < b.key ? -1 : 1),
  );
}
