import type { Bits } from './bits.js';
import type { NodeSets } from './node-sets.js';
import { PRIVILEGES, type Privilege } from '../../grants/domain/privilege.js';
import type { ColumnRule, TableRule } from '../rules/rules-document.js';

/** What a table rule gives: everything of it but whom and where. */
export type Outcome = Pick<TableRule, 'privileges' | 'columns' | 'filter'>;

/** Splits `people` by what they get at a node: sets that do not meet and together are `people`. */
export function outcomesAt(sets: NodeSets, people: Bits): { outcome: Outcome; people: Bits }[] {
  let parts: { outcome: Outcome; people: Bits }[] = people.isEmpty() ? [] : [{ outcome: { privileges: [] }, people }];
  const split = (holders: Bits, having: (outcome: Outcome) => Outcome) => {
    parts = parts.flatMap(({ outcome, people }) => {
      if (!people.meets(holders)) return [{ outcome, people }];
      const others = people.minus(holders);
      if (others.isEmpty()) return [{ outcome: having(outcome), people }];
      return [
        { outcome: having(outcome), people: people.and(holders) },
        { outcome, people: others },
      ];
    });
  };
  for (const privilege of PRIVILEGES) {
    split(sets.privileges[privilege], (outcome) => ({
      ...outcome,
      privileges: withPrivilege(outcome.privileges, privilege),
    }));
  }
  for (const [name, holders] of sets.hidden) split(holders, (outcome) => withColumn(outcome, { name, allow: false }));
  for (const [name, byExpression] of sets.masks) {
    for (const [mask, holders] of byExpression) split(holders, (outcome) => withColumn(outcome, { name, mask }));
  }
  for (const [filter, holders] of sets.filters) split(holders, (outcome) => ({ ...outcome, filter }));
  return parts;
}

/** Those who get something else at a node than the node above gives them. */
export function changedFrom(above: NodeSets, here: NodeSets, none: Bits): Bits {
  const maps = [
    [above.filters, here.filters],
    [above.hidden, here.hidden],
    ...union(above.masks, here.masks).map(
      (column) => [above.masks.get(column) ?? EMPTY, here.masks.get(column) ?? EMPTY] as const,
    ),
  ] as const;
  const privileges = PRIVILEGES.map((privilege) => above.privileges[privilege].differs(here.privileges[privilege]));
  const others = maps.flatMap(([a, b]) => union(a, b).map((key) => (a.get(key) ?? none).differs(b.get(key) ?? none)));
  return [...privileges, ...others].reduce((all, some) => all.or(some), none);
}

/** GRANT_SELECT lets its holder read as well (seen on 483): SELECT beside it says nothing. */
function withPrivilege(privileges: readonly Privilege[], privilege: Privilege): Privilege[] {
  const known = privilege === 'GRANT_SELECT' ? privileges.filter((held) => held !== 'SELECT') : privileges;
  return [...known, privilege];
}

function withColumn(outcome: Outcome, column: ColumnRule): Outcome {
  const columns = [...(outcome.columns ?? []), column].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { ...outcome, columns };
}

function union(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): string[] {
  return a === b ? [] : [...new Set([...a.keys(), ...b.keys()])];
}

const EMPTY: ReadonlyMap<string, Bits> = new Map();
