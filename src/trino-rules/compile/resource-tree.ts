import type { Node } from '../model/node.js';
import { getOrInsert } from './get-or-insert.js';

export type Level = 'catalog' | 'schema' | 'table';

/** A node with entries, or an ancestor of one. */
export interface TreeNode<T> {
  /** Its last name; empty for the root. */
  name: string;
  resource: Node;
  entries: T[];
  /** By name, sorted. */
  children: Map<string, TreeNode<T>>;
}

/** The named part of the tree below the root: catalogs, schemas and tables. */
export function resourceTree<T extends { resource: Node }>(items: readonly T[]): TreeNode<T> {
  const root: TreeNode<T> = { name: '', resource: {}, entries: [], children: new Map() };
  for (const item of items) {
    let node = root;
    for (const level of LEVELS) {
      const name = item.resource[level];
      if (name === undefined) break;
      node = child(node, level, name);
    }
    node.entries.push(item);
  }
  return sorted(root);
}

function child<T>({ resource, children }: TreeNode<T>, level: Level, name: string): TreeNode<T> {
  return getOrInsert(children, name, () => ({
    name,
    resource: { ...resource, [level]: name },
    entries: [],
    children: new Map(),
  }));
}

function sorted<T>(node: TreeNode<T>): TreeNode<T> {
  const children = [...node.children].sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...node, children: new Map(children.map(([name, below]) => [name, sorted(below)])) };
}

/** `sales.eu.orders`; empty for the root. */
export function pathText(node: Node): string {
  return namesOf(node).join('.');
}

/** How many levels a node is below the root. */
export function depthOf(node: Node): number {
  return namesOf(node).length;
}

// Stated once more, and not imported from the model (docs/decisions/0006).
function namesOf(node: Node): string[] {
  return LEVELS.flatMap((level) => node[level] ?? []);
}

const LEVELS: readonly Level[] = ['catalog', 'schema', 'table'];
