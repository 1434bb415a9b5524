import { type NamedPolicyPrincipal, type PolicyPrincipal, principalText } from './principal.js';

/**
 * The node that a grant or a policy is on: in the tree root ⊃ catalog ⊃ schema ⊃ table, by the names on the path (the root names none);
 * a routine of a schema; the engine, and queries by their owners below it; or impersonation. Names are exact and lower-case.
 */
export interface Node {
  catalog?: string;
  schema?: string;
  table?: string;
  /** A function or a procedure of the schema, instead of a table. */
  routine?: string;
  /** The engine itself; no other field is set. */
  engine?: true;
  /** Impersonation of these principals (kind `acting`); no other field is set. */
  as?: PolicyPrincipal;
  /** The queries of these owners, a part of the engine; no other field is set. */
  queries?: PolicyPrincipal;
}

/** A node as it is shown to people: its principals with their names. */
export interface NamedNode extends Node {
  as?: NamedPolicyPrincipal;
  queries?: NamedPolicyPrincipal;
}

export interface NodeInCatalog extends Node {
  catalog: string;
}

/** The engine's own catalog. Grants and policies on everything do not apply there. */
export const SYSTEM = 'system';

/** The only procedure of the catalog `system` that can be granted. KILL_QUERIES gives it as well, unless it is denied. */
export const KILL_QUERY = { catalog: SYSTEM, schema: 'runtime', routine: 'kill_query' };

export function isKillQuery({ catalog, schema, routine }: Node): boolean {
  return catalog === KILL_QUERY.catalog && schema === KILL_QUERY.schema && routine === KILL_QUERY.routine;
}

export const LEVELS = ['catalog', 'schema', 'table'] as const;

export type Level = (typeof LEVELS)[number];

export const NODE_KINDS = ['everything', ...LEVELS, 'routine', 'engine', 'queries', 'acting'] as const;

export type NodeKind = (typeof NODE_KINDS)[number];

export const NODE_FIELDS = [...LEVELS, 'routine', 'engine', 'as', 'queries'] as const;

export type NodeFields = Partial<Record<(typeof NODE_FIELDS)[number], unknown>>;

/** The first field that excludes another one or lacks one that it needs; null: the fields form a node. */
export function misplacedField(fields: NodeFields): { field: keyof NodeFields; message: string } | null {
  const { catalog, schema, table, routine, engine, as, queries } = fields;
  if (engine !== undefined && engine !== true) return { field: 'engine', message: 'must be true where it is given' };
  for (const [alone, value] of [
    ['engine', engine],
    ['as', as],
    ['queries', queries],
  ] as const) {
    const other = NODE_FIELDS.find((field) => field !== alone && fields[field] !== undefined);
    if (value !== undefined && other !== undefined) return { field: other, message: `cannot be given beside ${alone}` };
  }
  if (table !== undefined && routine !== undefined)
    return { field: 'routine', message: 'cannot be given beside table' };
  const below = table !== undefined ? 'a table' : routine !== undefined ? 'a routine' : null;
  if (schema === undefined && below !== null) return { field: 'schema', message: `must be given where ${below} is` };
  if (catalog === undefined && schema !== undefined)
    return { field: 'catalog', message: 'must be given where a schema is' };
  return null;
}

type Names = Readonly<Partial<Record<Level | 'routine', string | null | undefined>>> &
  Pick<Node, 'engine' | 'as' | 'queries'>;

/** The node at these names, without other properties of the object (a column, an absent level). */
export function nodeOf(names: Names & { readonly catalog: string }): NodeInCatalog;
export function nodeOf(names: Names): Node;
export function nodeOf({ catalog, schema, table, routine, engine, as, queries }: Names): Node {
  const node: Node = {};
  if (typeof catalog === 'string') node.catalog = catalog;
  if (typeof schema === 'string') node.schema = schema;
  if (typeof table === 'string') node.table = table;
  if (typeof routine === 'string') node.routine = routine;
  if (engine === true) node.engine = true;
  if (as !== undefined) node.as = as;
  if (queries !== undefined) node.queries = queries;
  return node;
}

/** The principal that a node names: to act as, or as owner of queries. */
export function namedBy({ as, queries }: Node): PolicyPrincipal | undefined {
  return as ?? queries;
}

/** A node whose named principal has another form. */
export type NodeNaming<T> = Omit<Node, 'as' | 'queries'> & { as?: T; queries?: T };

/** The same node with its named principal in another form. */
export function withNamed<T, U>({ as, queries, ...node }: NodeNaming<T>, form: (named: T) => U): NodeNaming<U> {
  return {
    ...node,
    ...(as !== undefined && { as: form(as) }),
    ...(queries !== undefined && { queries: form(queries) }),
  };
}

/** The same node of a tree with other names. */
export function withNames(node: Node, rename: (name: string, level: Level | 'routine') => string): Node {
  const renamed = nodeOf(node);
  for (const level of [...LEVELS, 'routine'] as const) {
    const name = node[level];
    if (name !== undefined) renamed[level] = rename(name, level);
  }
  return renamed;
}

/** The names from the catalog down to the table; none for the root, and for nodes outside of the tree. */
export function namesOf({ catalog, schema, table }: Node): string[] {
  return [catalog, schema, table].filter((name) => name !== undefined);
}

export function kindOf(node: Node): NodeKind {
  if (node.engine === true) return 'engine';
  if (node.as !== undefined) return 'acting';
  if (node.queries !== undefined) return 'queries';
  return node.routine !== undefined ? 'routine' : (levelOf(node) ?? 'everything');
}

/** Whether a node holds data: the root, a catalog, a schema or a table. */
export function isInTree(node: Node): boolean {
  return !isNonDataNode(node) && node.routine === undefined;
}

/** The deepest level that is named; null: none. */
export function levelOf(node: NodeInCatalog): Level;
export function levelOf(node: Node): Level | null;
export function levelOf(node: Node): Level | null {
  return LEVELS[namesOf(node).length - 1] ?? null;
}

/** From 0 for the root to 3 for a table or a routine. */
export function depth({ catalog, schema, table, routine }: Node): number {
  return table !== undefined || routine !== undefined ? 3 : schema !== undefined ? 2 : catalog !== undefined ? 1 : 0;
}

/** The node directly above; null for the root, `system`, the engine and impersonation. */
export function parentOf(node: Node): Node | null {
  const { catalog, schema, routine, queries } = node;
  if (queries !== undefined) return { engine: true };
  if (catalog === SYSTEM && schema === undefined) return null;
  if (routine !== undefined) return nodeOf({ catalog, schema });
  const level = levelOf(node);
  return level === null ? null : nodeOf({ ...node, [level]: null });
}

/** The node and all nodes above it, the widest first. The engine is also above `KILL_QUERY`, because the right to kill includes it. */
export function pathTo(node: Node): Node[] {
  if (isKillQuery(node)) return [{ engine: true }, ...pathTo(nodeOf({ ...node, routine: null })), nodeOf(node)];
  const parent = parentOf(node);
  return parent === null ? [nodeOf(node)] : [...pathTo(parent), nodeOf(node)];
}

/** Whether an entry on `wide` applies to `node`: the same node, or one above it. */
export function covers(wide: Node, node: Node): boolean {
  if (wide.engine === true && node.queries !== undefined) return true;
  if (isNonDataNode(wide) || isNonDataNode(node)) return nodeKey(wide) === nodeKey(node);
  return (
    (wide.catalog === undefined ? node.catalog !== SYSTEM : wide.catalog === node.catalog) &&
    (wide.schema === undefined || wide.schema === node.schema) &&
    (wide.table === undefined || wide.table === node.table) &&
    (wide.routine === undefined || wide.routine === node.routine)
  );
}

/** Whether a node is outside of the catalogs: the engine, queries or impersonation. */
export function isNonDataNode({ engine, as, queries }: Node): boolean {
  return engine !== undefined || as !== undefined || queries !== undefined;
}

/** A key that only equal nodes share, because names hold no control characters. */
export function nodeKey(node: Node): string {
  if (node.engine === true) return '\0engine';
  if (node.as !== undefined) return `\0as\0${principalText(node.as)}`;
  if (node.queries !== undefined) return `\0queries\0${principalText(node.queries)}`;
  return node.routine === undefined ? namesOf(node).join('\0') : [...namesOf(node), '', node.routine].join('\0');
}

/** `sales.eu.orders`, for people; empty for the root. */
export function nodeText(node: Node): string {
  if (node.engine === true) return 'the engine';
  if (node.as !== undefined) return `as ${principalText(node.as)}`;
  if (node.queries !== undefined) return `the queries of ${principalText(node.queries)}`;
  return [...namesOf(node), ...(node.routine === undefined ? [] : [node.routine])].join('.');
}

/** Orders by name, a node before those below it: the tree with routines at their schemas, then impersonation, the engine, queries. */
export function compareNodes(a: Node, b: Node): number {
  return (
    compareNames(namedText(a.queries), namedText(b.queries)) ||
    Number(a.engine ?? false) - Number(b.engine ?? false) ||
    compareNames(namedText(a.as), namedText(b.as)) ||
    compareNames(a.catalog ?? '', b.catalog ?? '') ||
    compareNames(a.schema ?? '', b.schema ?? '') ||
    compareNames(a.table ?? '', b.table ?? '') ||
    compareNames(a.routine ?? '', b.routine ?? '')
  );
}

function namedText(named: PolicyPrincipal | undefined): string {
  return named === undefined ? '' : principalText(named);
}

/** Orders by code units, independent of the locale. */
export function compareNames(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
