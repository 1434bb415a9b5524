import { isKillQuery, type Node, nodeKey, pathTo } from '../model/node.js';
import { isOpenSystem } from '../model/resource.js';
import { baseNodes } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';
import { type AccessIndex, yieldsElsewhere } from './access-index.js';

/**
 * Nodes at which one principal's access can differ between two indexes: of the tree those with a changed entry at them or above, or
 * with a right that yields to policies elsewhere; and not without any grant there. Of thousands of nodes, for thousands of people,
 * few are left, and the entries of the others need not be gathered.
 */
export function changedNodes(
  { snapshot: one }: AccessIndex,
  { snapshot: other }: AccessIndex,
): (node: Node) => boolean {
  const changed = [...onlyIn(one, other), ...onlyIn(other, one)];
  const grants = [...one.grants, ...other.grants];
  const yielding = grants.filter(({ privileges }) => privileges.some(yieldsElsewhere));
  const isChanged = isAtOrBelow([...changed, ...yielding]);
  const isGranted = isAtOrBelow(grants);
  return (node) =>
    node.queries !== undefined || isKillQuery(node) || isOpenSystem(node) || (isGranted(node) && isChanged(node));
}

function isAtOrBelow(entries: readonly { resource: Node }[]): (node: Node) => boolean {
  const keys = new Set(entries.map(({ resource }) => nodeKey(resource)));
  return (node) => [...pathTo(node), ...baseNodes(node)].some((each) => keys.has(nodeKey(each)));
}

function onlyIn(one: Snapshot, other: Snapshot): (SnapshotGrant | SnapshotPolicy)[] {
  const known = new Set<SnapshotGrant | SnapshotPolicy>([...other.grants, ...other.policies]);
  return [...one.grants, ...one.policies].filter((entry) => !known.has(entry));
}
