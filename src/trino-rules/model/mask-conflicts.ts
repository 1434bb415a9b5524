import { getOrInsert } from '../../kernel/collections.js';
import { nodeKey } from './node.js';
import { isServiceAccount, type Member, Principals } from './principals.js';
import type { ColumnResource } from './resource.js';
import type { Snapshot, SnapshotPolicy } from './snapshot.js';

export interface MaskConflict {
  /** Id of the other policy, which masks the same column of the same node. */
  otherPolicyId: number;
  principal: string;
}

type Mask = Extract<SnapshotPolicy, { kind: 'column_mask' }>;

/**
 * Finds contradictory masks: two different masks of one column on the same node that apply to the same principal. Neither of them takes
 * precedence, because only the depth of the node decides between masks.
 */
export class MaskConflicts {
  private readonly masksById = new Map<number, Mask>();
  private readonly masksByColumn = new Map<string, Mask[]>();
  private readonly principals: Principals;

  constructor(snapshot: Snapshot) {
    this.principals = principalsForMasks(snapshot);
    for (const mask of snapshot.policies) {
      if (mask.kind !== 'column_mask') continue;
      this.masksById.set(mask.id, mask);
      getOrInsert(this.masksByColumn, columnKey(mask.resource), () => []).push(mask);
    }
  }

  /**
   * A mask that contradicts the column mask `id`; null: no mask contradicts it, or `id` is no column mask.
   * @param formerPolicy the policy before the change: contradictions that this policy already had are not reported
   */
  conflictOf(id: number, formerPolicy: SnapshotPolicy | null = null): MaskConflict | null {
    const mask = this.masksById.get(id);
    if (mask === undefined) return null;
    const isUnchanged =
      formerPolicy?.kind === 'column_mask' &&
      formerPolicy.expression === mask.expression &&
      columnKey(formerPolicy.resource) === columnKey(mask.resource);
    for (const otherMask of this.masksByColumn.get(columnKey(mask.resource)) ?? []) {
      if (otherMask.id === id || otherMask.expression === mask.expression) continue;
      const principal = this.commonPrincipal(mask, otherMask, isUnchanged ? formerPolicy : null);
      if (principal !== undefined) return { otherPolicyId: otherMask.id, principal };
    }
    return null;
  }

  private commonPrincipal(mask: Mask, otherMask: Mask, formerMask: Mask | null): string | undefined {
    const [smallerGroup] = [mask, otherMask]
      .map(({ principal }) => this.principals.members(principal))
      .sort((a, b) => a.size - b.size);
    const appliesTo = (policy: Mask, user: Member) => this.principals.policyAppliesThrough(policy, user) !== null;
    const member = [...(smallerGroup?.values() ?? [])].find(
      (each) => appliesTo(mask, each) && appliesTo(otherMask, each) && !(formerMask && appliesTo(formerMask, each)),
    );
    return member?.name;
  }
}

/** Engine principals with a policy count as members of everyone already before their first grant, so that this grant cannot create a mask conflict. */
function principalsForMasks(snapshot: Snapshot): Principals {
  const assumedEngines = snapshot.policies.flatMap(({ principal }) =>
    principal.type === 'engine' && !isServiceAccount(snapshot, principal) ? [principal.name] : [],
  );
  return new Principals(snapshot, assumedEngines);
}

function columnKey(resource: ColumnResource): string {
  return JSON.stringify([nodeKey(resource), resource.column]);
}
