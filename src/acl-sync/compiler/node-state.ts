import type { Bits } from './bits.js';
import type { Privilege } from '../../grants/domain/privilege.js';
import type { Resource } from '../../grants/domain/resource.js';

/** One thing that a snapshot says of one node and of everything below it, and the set of those whom it means. */
export type Saying = { resource: Resource; means: Bits } & (
  | { kind: 'give' | 'take'; privileges: readonly Privilege[] }
  | { kind: 'filter'; expression: string }
  | { kind: 'hide'; column: string }
  | { kind: 'mask'; column: string; expression: string }
);

/** What has been said from the catalog down to one node, before denies are taken off and hidden columns beat masks. */
export interface NodeState {
  none: Bits;
  given: Readonly<Record<Privilege, Bits>>;
  taken: Readonly<Record<Privilege, Bits>>;
  filters: ReadonlyMap<string, Bits>;
  hidden: ReadonlyMap<string, Bits>;
  masks: ReadonlyMap<string, ReadonlyMap<string, Bits>>;
  /** By column: for whom the nearest masks are two. */
  conflicts: ReadonlyMap<string, Bits>;
}

export function nobody(none: Bits): NodeState {
  const nothing = { SELECT: none, INSERT: none, DELETE: none, UPDATE: none, OWNERSHIP: none, GRANT_SELECT: none };
  const empty = new Map<string, never>();
  return { none, given: nothing, taken: nothing, filters: empty, hidden: empty, masks: empty, conflicts: empty };
}

/** The state below a node of which `said` is said. */
export function inherit(above: NodeState, said: readonly Saying[]): NodeState {
  if (said.length === 0) return above;
  const given = { ...above.given };
  const taken = { ...above.taken };
  const filters = new Map(above.filters);
  const hidden = new Map(above.hidden);
  const masksHere = new Map<string, Map<string, Bits>>();
  for (const saying of said) {
    switch (saying.kind) {
      case 'give':
        for (const privilege of saying.privileges) add(given, privilege, saying.means);
        if (saying.privileges.includes('GRANT_SELECT')) add(given, 'SELECT', saying.means);
        break;
      case 'take':
        for (const privilege of saying.privileges) add(taken, privilege, saying.means);
        if (saying.privileges.includes('SELECT')) add(taken, 'GRANT_SELECT', saying.means);
        break;
      case 'filter':
        addTo(filters, saying.expression, saying.means);
        break;
      case 'hide':
        addTo(hidden, saying.column, saying.means);
        break;
      case 'mask': {
        const byExpression = masksHere.get(saying.column) ?? new Map<string, Bits>();
        addTo(byExpression, saying.expression, saying.means);
        masksHere.set(saying.column, byExpression);
      }
    }
  }
  return { none: above.none, given, taken, filters, hidden, ...nearestMasks(above, masksHere) };
}

/** A mask said here replaces what is inherited, for those whom it means; two here are a conflict. */
function nearestMasks(above: NodeState, here: Map<string, Map<string, Bits>>): Pick<NodeState, 'masks' | 'conflicts'> {
  const masks = new Map(above.masks);
  const conflicts = new Map(above.conflicts);
  for (const [column, byExpression] of here) {
    let once = above.none;
    let twice = above.none;
    for (const means of byExpression.values()) {
      twice = twice.or(once.and(means));
      once = once.or(means);
    }
    const nearest = new Map<string, Bits>();
    for (const [expression, means] of above.masks.get(column) ?? []) addTo(nearest, expression, means.minus(once));
    for (const [expression, means] of byExpression) addTo(nearest, expression, means.minus(twice));
    masks.set(column, nearest);
    conflicts.set(column, (above.conflicts.get(column) ?? above.none).minus(once).or(twice));
  }
  return { masks, conflicts };
}

function add(sets: Record<Privilege, Bits>, privilege: Privilege, means: Bits): void {
  sets[privilege] = sets[privilege].or(means);
}

export function addTo(sets: Map<string, Bits>, key: string, means: Bits): void {
  const known = sets.get(key);
  sets.set(key, known ? known.or(means) : means);
}
