/**
 * A node of the tree root ⊃ catalog ⊃ schema ⊃ table, by the names on the way to it; what is left out means everything below.
 * Names are exact and lower-case. A level is named only where the levels above it are: the root names none.
 */
export interface Node {
  catalog?: string;
  schema?: string;
  table?: string;
}

/** From the widest down. */
export const LEVELS = ['catalog', 'schema', 'table'] as const;

export type Level = (typeof LEVELS)[number];

type InCatalog = Node & { catalog: string };
type Names = Readonly<Partial<Record<Level, string | null | undefined>>>;

/** The node at these names, without anything else that the object holds (a column, an absent level). */
export function nodeOf(names: Names & { readonly catalog: string }): InCatalog;
export function nodeOf(names: Names): Node;
export function nodeOf({ catalog, schema, table }: Names): Node {
  const node: Node = {};
  if (typeof catalog === 'string') node.catalog = catalog;
  if (typeof schema === 'string') node.schema = schema;
  if (typeof table === 'string') node.table = table;
  return node;
}

/** The same node of a tree with other names. */
export function withNames(node: InCatalog, rename: (name: string, level: Level) => string): InCatalog {
  const { catalog, schema, table } = node;
  return nodeOf({
    catalog: rename(catalog, 'catalog'),
    schema: schema === undefined ? null : rename(schema, 'schema'),
    table: table === undefined ? null : rename(table, 'table'),
  });
}

/** The names from the catalog down; none for the root. */
export function namesOf({ catalog, schema, table }: Node): string[] {
  return [catalog, schema, table].filter((name) => name !== undefined);
}

/** The deepest level that is named; null: the root. */
export function levelOf(node: InCatalog): Level;
export function levelOf(node: Node): Level | null;
export function levelOf(node: Node): Level | null {
  return LEVELS[depth(node) - 1] ?? null;
}

/** From 0, the root, to 3, a table: of two nodes on one path, the deeper is the nearer. */
export function depth({ catalog, schema, table }: Node): number {
  return table !== undefined ? 3 : schema !== undefined ? 2 : catalog !== undefined ? 1 : 0;
}

/** The node directly above; null for the root. */
export function parentOf(node: Node): Node | null {
  const level = levelOf(node);
  return level === null ? null : nodeOf({ ...node, [level]: null });
}

/** The node and those above it, the root first. */
export function pathTo(node: Node): Node[] {
  const parent = parentOf(node);
  return parent === null ? [{}] : [...pathTo(parent), nodeOf(node)];
}

/** Whether an entry on `wide` applies to `node`: the same node, or one above it. */
export function covers(wide: Node, node: Node): boolean {
  return (
    (wide.catalog === undefined || wide.catalog === node.catalog) &&
    (wide.schema === undefined || wide.schema === node.schema) &&
    (wide.table === undefined || wide.table === node.table)
  );
}

/** Equal for equal nodes alone: names hold no control characters. */
export function nodeKey(node: Node): string {
  return namesOf(node).join('\0');
}

/** `sales.eu.orders`, for people; empty for the root. */
export function nodeText(node: Node): string {
  return namesOf(node).join('.');
}

/** By name, a node before those below it. */
export function compareNodes(a: Node, b: Node): number {
  return (
    compareNames(a.catalog ?? '', b.catalog ?? '') ||
    compareNames(a.schema ?? '', b.schema ?? '') ||
    compareNames(a.table ?? '', b.table ?? '')
  );
}

/** By code units, whatever the locale. */
export function compareNames(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
