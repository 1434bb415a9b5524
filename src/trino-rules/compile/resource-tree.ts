import type { Node } from '../model/node.js';
import { getOrInsert } from './get-or-insert.js';

export type Level = 'catalog' | 'schema' | 'table';

/** The level of the nodes that a rule is about; `everything` for the root. */
export type Scope = Level | 'everything';

/** A node with entries (grants, policies, settings), or with a descendant that has entries. */
export interface TreeNode<T> {
  /** The node's own name, such as `orders` for `sales.eu.orders`; empty for the root. */
  name: string;
  resource: Node;
  entries: T[];
  /** Children by name, in the order of their names. */
  children: Map<string, TreeNode<T>>;
  routines: Map<string, TreeNode<T>>;
}

/** The tree of all nodes that have items or a descendant with items. */
export function resourceTree<T extends { resource: Node }>(items: readonly T[]): TreeNode<T> {
  const root: TreeNode<T> = { name: '', resource: {}, entries: [], children: new Map(), routines: new Map() };
  for (const item of items) {
    let node = root;
    for (const level of LEVELS) {
      const name = item.resource[level];
      if (name === undefined) break;
      node = childOf(node, level, name);
    }
    if (item.resource.routine !== undefined) node = childOf(node, 'routine', item.resource.routine);
    node.entries.push(item);
  }
  return sortedTree(root);
}

function childOf<T>({ resource, ...childMaps }: TreeNode<T>, level: Level | 'routine', name: string): TreeNode<T> {
  return getOrInsert(level === 'routine' ? childMaps.routines : childMaps.children, name, () => ({
    name,
    resource: { ...resource, [level]: name },
    entries: [],
    children: new Map(),
    routines: new Map(),
  }));
}

function sortedTree<T>(node: TreeNode<T>): TreeNode<T> {
  const sortByName = (nodes: Map<string, TreeNode<T>>) =>
    nodes.size === 0
      ? nodes
      : new Map([...nodes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, child]) => [name, sortedTree(child)]));
  return { ...node, children: sortByName(node.children), routines: sortByName(node.routines) };
}

/** The path of a node as text, `sales.eu.orders`; empty for the root. */
export function pathText(node: Node): string {
  return namesOf(node).join('.');
}

export function depthOf(node: Node): number {
  return namesOf(node).length;
}

// This repeats a function of the model, because compiler and proof share no code (docs/decisions/0006).
function namesOf(node: Node): string[] {
  return LEVELS.flatMap((level) => node[level] ?? []);
}

const LEVELS: readonly Level[] = ['catalog', 'schema', 'table'];
