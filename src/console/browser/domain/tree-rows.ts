import type { Child, FoundTable } from '../api/catalog.js';

/** A line of the tree: a node, or a placeholder for children that have not been read. */
export type TreeRow =
  | { kind: 'node'; names: readonly string[]; child: Child | null }
  | { kind: 'more'; depth: number; count: number | null }
  | { kind: 'loading' | 'none'; depth: number };

export interface Branch {
  /** Null: no page of children has been read yet. */
  items: readonly Child[] | null;
  /** Number of children that have not been read; null: not known. */
  left: number | null;
  hasMore: boolean;
}

/**
 * The open part of the tree from everything down, in the order in which it is shown.
 * @param open the names of the node whose page is shown
 * @param branches the children of everything, then of the open catalog, then of the open schema
 */
export function treeRows(open: readonly string[], branches: readonly Branch[]): TreeRow[] {
  return [{ kind: 'node', names: [], child: null }, ...rowsBelow([], open, branches)];
}

function rowsBelow(
  names: readonly string[],
  open: readonly string[],
  [branch, ...below]: readonly Branch[],
): TreeRow[] {
  if (branch === undefined) return [];
  const depth = names.length + 1;
  if (branch.items === null) return [{ kind: 'loading', depth }];
  const next = open[names.length];
  const rows = branch.items.flatMap((child): TreeRow[] => {
    const path = [...names, child.name];
    const row: TreeRow = { kind: 'node', names: path, child };
    return child.name === next ? [row, ...rowsBelow(path, open, below)] : [row];
  });
  // Adds the open child if it is on a page that has not been read, or if the search leaves it out.
  if (next !== undefined && !branch.items.some(({ name }) => name === next))
    rows.push({ kind: 'node', names: [...names, next], child: null }, ...rowsBelow([...names, next], open, below));
  if (branch.hasMore) rows.push({ kind: 'more', depth, count: branch.left });
  return rows.length === 0 ? [{ kind: 'none', depth }] : rows;
}

/** Whether a path leads to a node or below it. */
export function isBelow(names: readonly string[], node: readonly string[]): boolean {
  return node.every((name, at) => names[at] === name);
}

/** Adds tables that a search has found in closed schemas of a catalog, each below its schema. */
export function withFoundTables(rows: readonly TreeRow[], catalog: string, found: readonly FoundTable[]): TreeRow[] {
  const all = rows.filter((row) => row.kind !== 'none' || found.length === 0);
  for (const child of found) {
    const path = [catalog, child.schema];
    const lastBelow = (node: readonly string[]): number =>
      all.findLastIndex((row) => row.kind === 'node' && isBelow(row.names, node));
    let at = lastBelow(path);
    if (at === -1) {
      at = lastBelow([catalog]) + 1;
      all.splice(at, 0, { kind: 'node', names: path, child: null });
    }
    all.splice(at + 1, 0, { kind: 'node', names: [...path, child.name], child });
  }
  return all;
}

/** Number of names of a schema, whose children are tables. */
const DEEPEST = 2;

/**
 * The meaning of a search in the tree: a path such as `sales.eu.ord` begins at the root, a name without dots is looked for below the
 * open node.
 * @returns the node whose children are searched, and the part of a name
 */
export function treeSearch(open: readonly string[], text: string): { under: readonly string[]; part: string } {
  const names = text.split('.').map((name) => name.trim());
  const part = names.pop() ?? '';
  const isPath = names.length > 0 && names.length <= DEEPEST && !names.includes('');
  return isPath ? { under: names, part } : { under: open.slice(0, DEEPEST), part: text };
}
