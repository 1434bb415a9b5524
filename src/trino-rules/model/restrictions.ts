import { covers, isInTree, kindOf, nodeOf, parentOf, SYSTEM, type Node } from './node.js';
import { isOverData } from './privilege.js';
import type { Principal } from './principal.js';
import type { Principals } from './principals.js';
import type { Snapshot, SnapshotPolicy, SnapshotSettings } from './snapshot.js';

/**
 * Whether a policy restricts data: a filter, a mask, a hidden column, or a deny of any right over data, outside of `system`.
 * Restrictions win over ownership and over routines, whether or not they change any access.
 */
export function restrictsData(policy: SnapshotPolicy): boolean {
  const { resource } = policy;
  return (
    isInTree(resource) && resource.catalog !== SYSTEM && (policy.kind !== 'deny' || policy.privileges.some(isOverData))
  );
}

/** Whether a policy restricts reading. Companions and shared files, which lead around such a policy, are then closed as well. */
export function restrictsReading(policy: SnapshotPolicy): boolean {
  return restrictsData(policy) && (policy.kind !== 'deny' || policy.privileges.includes('SELECT'));
}

/**
 * The tables whose companions a table may be, by its name: `a` and `a$b` for `a$b$c`. Connectors serve data, statistics and
 * history of a table as `table$suffix`, and the engine asks the rules for that name alone (seen on 483).
 */
export function basesOf(table: string): string[] {
  const bases: string[] = [];
  for (let at = table.indexOf('$', 1); at > 0; at = table.indexOf('$', at + 1)) bases.push(table.slice(0, at));
  return bases;
}

/** The base tables of a node that is a companion. */
export function baseNodes(node: Node): Node[] {
  return node.table === undefined ? [] : basesOf(node.table).map((base) => nodeOf({ ...node, table: base }));
}

/** Whether a policy closes a table as a companion: its base is restricted, or it has a `$` in its name and a node above is restricted. */
export function closesCompanion({ table, ...schema }: Node, policy: SnapshotPolicy): boolean {
  if (table?.includes('$') !== true || !restrictsReading(policy)) return false;
  const { resource } = policy;
  if (resource.table === undefined) return covers(resource, schema);
  return baseNodes({ ...schema, table }).some((base) => covers(resource, base));
}

/** Columns that show where a row is stored, and with it values of partition columns. */
export const STORAGE_COLUMNS = ['$bucket', '$partition', '$path'];
/** Columns of Kafka, Redis, Elasticsearch and OpenSearch that hold a row as it was stored. */
const RAW_COLUMNS = ['_headers', '_key', '_message', '_source', '_value'];

/** The columns that are hidden beside any masked or hidden column of a table. */
export function storageColumns({ catalog }: Node, { rawColumnCatalogs }: SnapshotSettings): readonly string[] {
  return catalog !== undefined && rawColumnCatalogs.includes(catalog) ? WITH_RAW_COLUMNS : STORAGE_COLUMNS;
}

const WITH_RAW_COLUMNS = [...STORAGE_COLUMNS, ...RAW_COLUMNS];

/** Whether ownership at a node yields to any restriction of reading in its catalog. */
export function sharesFiles({ catalog }: Node, { externalTableCatalogs }: SnapshotSettings): boolean {
  return catalog !== undefined && externalTableCatalogs.includes(catalog);
}

/** Whether a policy restricts a table of this schema; false for other nodes than schemas. */
export function restrictsTableOf(schema: Node, policy: SnapshotPolicy): boolean {
  if (kindOf(schema) !== 'schema') return false;
  return policy.resource.table !== undefined && covers(schema, policy.resource) && restrictsData(policy);
}

/** Restrictions of tables in a schema. They take its ownership: an owner would drop and rename the schema with its tables. */
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

/** Whether a policy is on everything, on the catalog of `node`, or below the catalog. */
export function isAroundCatalogOf(node: Node, { resource }: SnapshotPolicy): boolean {
  const { catalog } = node;
  return covers(resource, nodeOf({ catalog })) || (catalog !== undefined && resource.catalog === catalog);
}

/** The nodes where a policy on `node` changes access: one on a table also takes ownership of the schema. */
export function whereRestricted(node: Node): Node[] {
  const schema = node.table === undefined ? null : parentOf(node);
  return schema === null ? [node] : [schema, node];
}
