import { covers, isInTree, kindOf, nodeOf, parentOf, SYSTEM, type Node } from './node.js';
import { isOverData } from './privilege.js';
import type { Principal } from './principal.js';
import type { Principals } from './principals.js';
import type { Snapshot, SnapshotPolicy } from './snapshot.js';

/**
 * Whether a policy restricts data for those whom it applies to: a filter, a mask, a hidden column, or a deny of any right over data.
 * The catalog `system` has none. Restrictions win over ownership and over routines, whether they bite or not.
 */
export function restrictsData(policy: SnapshotPolicy): boolean {
  const { resource } = policy;
  return (
    isInTree(resource) && resource.catalog !== SYSTEM && (policy.kind !== 'deny' || policy.privileges.some(isOverData))
  );
}

/** Whether a policy restricts a table of this schema, which its owner would drop or rename with it. Other nodes have no such tables. */
export function restrictsTableOf(schema: Node, policy: SnapshotPolicy): boolean {
  if (kindOf(schema) !== 'schema') return false;
  return policy.resource.table !== undefined && covers(schema, policy.resource) && restrictsData(policy);
}

/** Who owns a schema drops and renames it with all tables in it: one that is restricted there takes its ownership. */
export function restrictionsIn(
  { policies }: Snapshot,
  principal: Principal,
  schema: Node,
  principals: Principals,
): SnapshotPolicy[] {
  return policies.filter(
    (policy) => restrictsTableOf(schema, policy) && principals.throughPolicy(policy, principal) !== null,
  );
}

/** Whether a policy is on everything, on the catalog of `node`, or anywhere below that; where no catalog is named, on everything. */
export function isAroundCatalogOf(node: Node, { resource }: SnapshotPolicy): boolean {
  const { catalog } = node;
  return covers(resource, nodeOf({ catalog })) || (catalog !== undefined && resource.catalog === catalog);
}

/** Nodes where a policy on a node can change access beside those below it: on a table, the ownership of its schema. */
export function whereRestricted(node: Node): Node[] {
  const schema = node.table === undefined ? null : parentOf(node);
  return schema === null ? [node] : [schema, node];
}
