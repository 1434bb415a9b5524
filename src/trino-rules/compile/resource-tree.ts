import type { Node } from '../model/node.js';
import { getOrInsert } from './get-or-insert.js';

export type Level = 'catalog' | 'schema' | 'table';

/** The level of the nodes that a rule is about; `everything`: the root. */
export type Scope = Level | 'everything';

/** A node with entries, or an ancestor of one. */
export interface TreeNode<T> {
  /** The last name on its path; empty for the root. */
  name: string;
  resource: Node;
  entries: T[];
  /** By name, sorted. */
  children: Map<string, TreeNode<T>>;
  /** Functions and procedures of a schema, by name. */
  routines: Map<string, TreeNode<T>>;
}

/** The named part of the tree below the root: catalogs, schemas, tables and routines. */
export function resourceTree<T extends { resource: Node }>(items: readonly T[]): TreeNode<T> {
  const root: TreeNode<T> = { name: '', resource: {}, entries: [], children: new Map(), routines: new Map() };
  for (const item of items) {
    let node = root;
    for (const level of LEVELS) {
      const name = item.resource[level];
      if (name === undefined) break;
      node = child(node, level, name);
    }
    if (item.resource.routine !== undefined) node = child(node, 'routine', item.resource.routine);
    node.entries.push(item);
  }
  return sorted(root);
}

function child<T>({ resource, ...below }: TreeNode<T>, level: Level | 'routine', name: string): TreeNode<T> {
  return getOrInsert(level === 'routine' ? below.routines : below.children, name, () => ({
    name,
    resource: { ...resource, [level]: name },
    entries: [],
    children: new Map(),
    routines: new Map(),
  }));
}

function sorted<T>(node: TreeNode<T>): TreeNode<T> {
  const byName = (nodes: Map<string, TreeNode<T>>) =>
    nodes.size === 0
      ? nodes
      : new Map([...nodes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, below]) => [name, sorted(below)]));
  return { ...node, children: byName(node.children), routines: byName(node.routines) };
}

/** `sales.eu.orders`; empty for the root. */
export function pathText(node: Node): string {
  return namesOf(node).join('.');
}

export function depthOf(node: Node): number {
  return namesOf(node).length;
}

// Repeated here, not imported from the model (docs/decisions/0006).
function namesOf(node: Node): string[] {
  return LEVELS.flatMap((level) => node[level] ?? []);
}

const LEVELS: readonly Level[] = ['catalog', 'schema', 'table'];
