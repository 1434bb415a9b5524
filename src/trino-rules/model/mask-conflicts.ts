import { getOrInsert } from '../../kernel/collections.js';
import { nodeKey } from './node.js';
import { isServiceAccount, type Member, Principals } from './principals.js';
import type { ColumnResource } from './resource.js';
import type { Snapshot, SnapshotPolicy } from './snapshot.js';

export interface MaskConflict {
  /** Id of the other policy, which masks the same column of the same node. */
  with: number;
  /** A principal that both policies apply to. */
  principal: string;
}

type Mask = Extract<SnapshotPolicy, { kind: 'column_mask' }>;

/**
 * Masks at the same distance that apply to a common principal, so that none takes precedence. Two masks
 * are equally near to a column of a table exactly when they are on the same node.
 */
export class MaskConflicts {
  private readonly byId = new Map<number, Mask>();
  private readonly byColumn = new Map<string, Mask[]>();
  private readonly principals: Principals;

  constructor(snapshot: Snapshot) {
    this.principals = principalsOf(snapshot);
    for (const mask of snapshot.policies) {
      if (mask.kind !== 'column_mask') continue;
      this.byId.set(mask.id, mask);
      getOrInsert(this.byColumn, columnKey(mask.resource), () => []).push(mask);
    }
  }

  /**
   * A mask that contradicts the column mask `id`; null: there is none, or `id` is no column mask.
   * @param former the policy that `id` replaces: contradictions that the former policy had already are not counted
   */
  conflictOf(id: number, former: SnapshotPolicy | null = null): MaskConflict | null {
    const mine = this.byId.get(id);
    if (mine === undefined) return null;
    const isAlike =
      former?.kind === 'column_mask' &&
      former.expression === mine.expression &&
      columnKey(former.resource) === columnKey(mine.resource);
    for (const other of this.byColumn.get(columnKey(mine.resource)) ?? []) {
      if (other.id === id || other.expression === mine.expression) continue;
      const principal = this.common(mine, other, isAlike ? former : null);
      if (principal !== undefined) return { with: other.id, principal };
    }
    return null;
  }

  private common(one: Mask, other: Mask, former: Mask | null): string | undefined {
    const [fewer] = [one, other]
      .map(({ principal }) => this.principals.members(principal))
      .sort((a, b) => a.size - b.size);
    const isMasked = (by: Mask, member: Member): boolean => this.principals.throughPolicy(by, member) !== null;
    const found = [...(fewer?.values() ?? [])].find(
      (each) => isMasked(one, each) && isMasked(other, each) && !(former !== null && isMasked(former, each)),
    );
    return found?.name;
  }
}

/** Engine principals without a grant count as known: their masks must not contradict each other once they have one. */
function principalsOf(snapshot: Snapshot): Principals {
  const engines = snapshot.policies.flatMap(({ principal }) => (principal.type === 'engine' ? [principal] : []));
  const assumed = engines.filter((principal) => !isServiceAccount(snapshot, principal));
  return new Principals(
    snapshot,
    assumed.map(({ name }) => name),
  );
}

function columnKey(resource: ColumnResource): string {
  return JSON.stringify([nodeKey(resource), resource.column]);
}
