import type { Snapshot, SnapshotPolicy } from './snapshot.js';
import { subjectsOf } from './subjects.js';

export interface MaskConflict {
  /** The other policy, which masks the same column of the same node. */
  with: number;
  /** One of those who would meet both. */
  who: string;
}

/**
 * Whether the column mask `id` and another one at the same distance mean one person (access model, section 1): nobody could say
 * which counts. Two masks are equally near to a column of a table exactly when they stand on the same node.
 */
export function maskConflict(snapshot: Snapshot, id: number): MaskConflict | null {
  const masks = snapshot.policies.filter((policy) => policy.kind === 'column_mask');
  const mine = masks.find((mask) => mask.id === id);
  if (mine === undefined) return null;
  const subjects = subjectsOf(snapshot);
  const meant = subjects.meantByPolicy(mine);
  for (const other of masks) {
    if (other.id === id || other.expression === mine.expression || !sameColumn(other, mine)) continue;
    const [position] = subjects.meantByPolicy(other).and(meant).members();
    const who = position === undefined ? undefined : subjects.list[position];
    if (who !== undefined) return { with: other.id, who: who.name };
  }
  return null;
}

type Mask = Extract<SnapshotPolicy, { kind: 'column_mask' }>;

function sameColumn({ resource: a }: Mask, { resource: b }: Mask): boolean {
  return a.catalog === b.catalog && a.schema === b.schema && a.table === b.table && a.column === b.column;
}
