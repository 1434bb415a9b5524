import { covers, isInTree, kindOf, nodeOf, parentOf, SYSTEM, type Node } from './node.js';
import { isDataPrivilege } from './privilege.js';
import type { SnapshotPolicy, SnapshotSettings } from './snapshot.js';

/**
 * Whether a policy restricts data outside of the catalog `system`: a filter, a mask, a hidden column, or a deny of a privilege over data.
 * Such a policy also takes away ownership and rights over routines.
 */
export function restrictsData(policy: SnapshotPolicy): boolean {
  const { resource } = policy;
  return (
    isInTree(resource) &&
    resource.catalog !== SYSTEM &&
    (policy.kind !== 'deny' || policy.privileges.some(isDataPrivilege))
  );
}

/** Whether a policy restricts reading. Such a policy also denies companion tables (`orders$files`), which show the same data. */
export function restrictsReading(policy: SnapshotPolicy): boolean {
  return restrictsData(policy) && (policy.kind !== 'deny' || policy.privileges.includes('SELECT'));
}

/**
 * The names of the tables that `table` may describe: `a` and `a$b` for `a$b$c`. Connectors serve statistics and history of a table as a
 * companion, `table$suffix`, and the engine checks the rules for the name of the companion alone (seen on 483).
 */
export function baseNames(table: string): string[] {
  const bases: string[] = [];
  for (let end = table.indexOf('$', 1); end > 0; end = table.indexOf('$', end + 1)) bases.push(table.slice(0, end));
  return bases;
}

/** The nodes of the base tables of a companion table, such as `a` for `a$files`. */
export function baseNodes(node: Node): Node[] {
  return node.table === undefined ? [] : baseNames(node.table).map((base) => nodeOf({ ...node, table: base }));
}

/** Whether a policy denies access to a table with a `$` in its name: the policy restricts reading of a base table or of a node above. */
export function closesCompanion({ table, ...schema }: Node, policy: SnapshotPolicy): boolean {
  if (table?.includes('$') !== true || !restrictsReading(policy)) return false;
  const { resource } = policy;
  if (resource.table === undefined) return covers(resource, schema);
  return baseNodes({ ...schema, table }).some((base) => covers(resource, base));
}

/** Columns that show where a row is stored, and thereby the values of partition columns. */
export const STORAGE_COLUMNS = ['$bucket', '$partition', '$path'];
/** Columns of Kafka, Redis, Elasticsearch and OpenSearch that hold a row as it was stored. */
const RAW_COLUMNS = ['_headers', '_key', '_message', '_source', '_value'];

/** The columns that are hidden as soon as another column of the table is masked or hidden. */
export function storageColumns({ catalog }: Node, { rawColumnCatalogs }: SnapshotSettings): readonly string[] {
  return catalog !== undefined && rawColumnCatalogs.includes(catalog) ? STORAGE_AND_RAW_COLUMNS : STORAGE_COLUMNS;
}

const STORAGE_AND_RAW_COLUMNS = [...STORAGE_COLUMNS, ...RAW_COLUMNS];

/** Whether users can create tables over files of other tables. If so, any restriction of reading in the catalog takes away ownership. */
export function tablesMayShareFiles(
  { catalog }: Node,
  { externalTableCatalogs }: Pick<SnapshotSettings, 'externalTableCatalogs'>,
): boolean {
  return catalog !== undefined && externalTableCatalogs.includes(catalog);
}

/** Whether a policy restricts a table of this schema; false for other nodes than schemas. */
export function restrictsTableIn(schema: Node, policy: SnapshotPolicy): boolean {
  if (kindOf(schema) !== 'schema') return false;
  return policy.resource.table !== undefined && covers(schema, policy.resource) && restrictsData(policy);
}

/** Whether a policy is on everything, on the catalog of `node`, or below the catalog. */
export function concernsCatalogOf(node: Node, { resource }: SnapshotPolicy): boolean {
  const { catalog } = node;
  return covers(resource, nodeOf({ catalog })) || (catalog !== undefined && resource.catalog === catalog);
}

/** The nodes at which a policy on `node` changes access. A policy on a table also takes away ownership of the schema. */
export function nodesAffectedByPolicy(node: Node): Node[] {
  const schema = node.table === undefined ? null : parentOf(node);
  return schema === null ? [node] : [schema, node];
}
