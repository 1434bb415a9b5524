import type { Resource } from '../model/resource.js';

/** A node with entries, or an ancestor of one. */
export interface TreeNode<T> {
  resource: Resource;
  entries: T[];
  /** By name, sorted. */
  children: Map<string, TreeNode<T>>;
}

/** The named part of the tree of catalogs, schemas and tables: one root without a name, children sorted by name. */
export function resourceTree<T extends { resource: Resource }>(items: readonly T[]): Map<string, TreeNode<T>> {
  const catalogs = new Map<string, TreeNode<T>>();
  for (const item of items) {
    const { catalog, schema, table } = item.resource;
    let node = child(catalogs, catalog, () => ({ catalog }));
    if (schema !== undefined) node = child(node.children, schema, () => ({ catalog, schema }));
    if (schema !== undefined && table !== undefined)
      node = child(node.children, table, () => ({ catalog, schema, table }));
    node.entries.push(item);
  }
  return sorted(catalogs);
}

function child<T>(siblings: Map<string, TreeNode<T>>, name: string, resource: () => Resource): TreeNode<T> {
  const known = siblings.get(name);
  if (known) return known;
  const made: TreeNode<T> = { resource: resource(), entries: [], children: new Map() };
  siblings.set(name, made);
  return made;
}

function sorted<T>(nodes: Map<string, TreeNode<T>>): Map<string, TreeNode<T>> {
  const entries = [...nodes].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(entries.map(([name, node]) => [name, { ...node, children: sorted(node.children) }]));
}
