import type { Child, FoundTable } from '../api/catalog.js';

/** A row of the tree: a node, a placeholder for children that have not been read, or a note that a node has no children. */
export type TreeRow =
  | { kind: 'node'; path: readonly string[]; child: Child | null }
  | { kind: 'more'; depth: number; count: number | null }
  | { kind: 'loading' | 'none'; depth: number };

export interface Branch {
  /** The children that have been read; null: no page of them has been read yet. */
  items: readonly Child[] | null;
  /** Number of children that have not been read; null: not known. */
  unreadCount: number | null;
  hasMore: boolean;
}

/**
 * The rows of the open part of the tree, from the node *everything* down, in the order in which they are shown.
 * @param openPath the names of the node whose page is shown
 * @param branches the children of the node *everything*, then of the open catalog, then of the open schema
 */
export function treeRows(openPath: readonly string[], branches: readonly Branch[]): TreeRow[] {
  return [{ kind: 'node', path: [], child: null }, ...rowsBelow([], openPath, branches)];
}

function rowsBelow(
  parentPath: readonly string[],
  openPath: readonly string[],
  [branch, ...deeperBranches]: readonly Branch[],
): TreeRow[] {
  if (branch === undefined) return [];
  const depth = parentPath.length + 1;
  if (branch.items === null) return [{ kind: 'loading', depth }];
  const openChild = openPath[parentPath.length];
  const rows = branch.items.flatMap((child): TreeRow[] => {
    const path = [...parentPath, child.name];
    const row: TreeRow = { kind: 'node', path, child };
    return child.name === openChild ? [row, ...rowsBelow(path, openPath, deeperBranches)] : [row];
  });
  // The open child is shown even if the search leaves the child out, or if the list's page with the child has not been read.
  if (openChild !== undefined && !branch.items.some(({ name }) => name === openChild))
    rows.push(
      { kind: 'node', path: [...parentPath, openChild], child: null },
      ...rowsBelow([...parentPath, openChild], openPath, deeperBranches),
    );
  if (branch.hasMore) rows.push({ kind: 'more', depth, count: branch.unreadCount });
  return rows.length === 0 ? [{ kind: 'none', depth }] : rows;
}

/** Whether a path leads to the node at `ancestorPath`, or to a node below it. */
export function isBelow(path: readonly string[], ancestorPath: readonly string[]): boolean {
  return ancestorPath.every((name, index) => path[index] === name);
}

/** Adds tables that a search has found in a catalog, each below its schema, which need not be open. */
export function withFoundTables(rows: readonly TreeRow[], catalog: string, tables: readonly FoundTable[]): TreeRow[] {
  const resultRows = rows.filter((row) => row.kind !== 'none' || tables.length === 0);
  for (const child of tables) {
    const path = [catalog, child.schema];
    const lastIndexBelow = (ancestorPath: readonly string[]): number =>
      resultRows.findLastIndex((row) => row.kind === 'node' && isBelow(row.path, ancestorPath));
    let index = lastIndexBelow(path);
    if (index === -1) {
      index = lastIndexBelow([catalog]) + 1;
      resultRows.splice(index, 0, { kind: 'node', path, child: null });
    }
    resultRows.splice(index + 1, 0, { kind: 'node', path: [...path, child.name], child });
  }
  return resultRows;
}

/** The path of a schema has two names: catalog and schema. No deeper node has children. */
const SCHEMA_DEPTH = 2;

/**
 * Parses a search in the tree. A path such as `sales.eu.ord` searches `ord` among the children of `sales.eu`. Any other text is searched among the
 * children of the open node. @returns the node whose children are searched, and the text to search in the names of these children
 */
export function parseSearch(openPath: readonly string[], text: string) {
  const names = text.split('.').map((name) => name.trim());
  const namePart = names.pop() ?? '';
  const isPath = names.length > 0 && names.length <= SCHEMA_DEPTH && !names.includes('');
  return isPath ? { parentPath: names, namePart } : { parentPath: openPath.slice(0, SCHEMA_DEPTH), namePart: text };
}
