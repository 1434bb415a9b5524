import { type NamedPolicyPrincipal, type PolicyPrincipal, principalText } from './principal.js';

/**
 * The node that a grant or a policy is on: a node of the tree root ⊃ catalog ⊃ schema ⊃ table (the root has no names), a routine of a
 * schema, the engine, the queries of some owners (below the engine), or impersonation. Names are exact and lower-case.
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

/** A node as it is shown to people: its principal has a name besides the id. */
export interface NamedNode extends Node {
  as?: NamedPolicyPrincipal;
  queries?: NamedPolicyPrincipal;
}

export interface NodeInCatalog extends Node {
  catalog: string;
}

/** The engine's own catalog. Grants and policies on everything do not apply there. */
export const SYSTEM = 'system';

/** The only procedure of the catalog `system` that can be granted. A grant of KILL_QUERIES also gives it. */
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

/** The first field that does not fit the others (a routine and a table, a schema without a catalog); null: the fields form a node. */
export function misplacedField(fields: NodeFields): { field: keyof NodeFields; message: string } | null {
  const { catalog, schema, table, routine, engine, as, queries } = fields;
  if (engine !== undefined && engine !== true) return { field: 'engine', message: 'must be true where it is given' };
  for (const [exclusiveField, value] of [
    ['engine', engine],
    ['as', as],
    ['queries', queries],
  ] as const) {
    const conflictingField = NODE_FIELDS.find((field) => field !== exclusiveField && fields[field] !== undefined);
    if (value !== undefined && conflictingField !== undefined)
      return { field: conflictingField, message: `cannot be given beside ${exclusiveField}` };
  }
  if (table !== undefined && routine !== undefined)
    return { field: 'routine', message: 'cannot be given beside table' };
  const childText = table !== undefined ? 'a table' : routine !== undefined ? 'a routine' : null;
  if (schema === undefined && childText !== null)
    return { field: 'schema', message: `must be given where ${childText} is` };
  if (catalog === undefined && schema !== undefined)
    return { field: 'catalog', message: 'must be given where a schema is' };
  return null;
}

type NodeNames = Readonly<Partial<Record<Level | 'routine', string | null | undefined>>> &
  Pick<Node, 'engine' | 'as' | 'queries'>;

/** The node with these names. Other properties of the object (a column) and absent levels are left out. */
export function nodeOf(names: NodeNames & { readonly catalog: string }): NodeInCatalog;
export function nodeOf(names: NodeNames): Node;
export function nodeOf({ catalog, schema, table, routine, engine, as, queries }: NodeNames): Node {
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

/** The principal that a node names: the one to impersonate, or the owner of queries. */
export function principalIn({ as, queries }: Node): PolicyPrincipal | undefined {
  return as ?? queries;
}

/** A node whose principal is of type `T`. */
export type NodeWithPrincipal<T> = Omit<Node, 'as' | 'queries'> & { as?: T; queries?: T };

export function mapPrincipal<T, U>(
  { as, queries, ...node }: NodeWithPrincipal<T>,
  toForm: (principal: T) => U,
): NodeWithPrincipal<U> {
  return {
    ...node,
    ...(as !== undefined && { as: toForm(as) }),
    ...(queries !== undefined && { queries: toForm(queries) }),
  };
}

export function mapNames(node: Node, mapName: (name: string, level: Level | 'routine') => string): Node {
  const renamedNode = nodeOf(node);
  for (const level of [...LEVELS, 'routine'] as const) {
    const name = node[level];
    if (name !== undefined) renamedNode[level] = mapName(name, level);
  }
  return renamedNode;
}

/** The names from the catalog down to the table; empty for the root and outside of the catalogs. */
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
  return !isOutsideCatalogs(node) && node.routine === undefined;
}

/** The deepest level that has a name; null for the root. */
export function levelOf(node: NodeInCatalog): Level;
export function levelOf(node: Node): Level | null;
export function levelOf(node: Node): Level | null {
  return LEVELS[namesOf(node).length - 1] ?? null;
}

/** The depth of a node in the tree, from 0 for the root to 3 for a table or a routine. */
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

/** The node and all nodes above, the root first. The engine is above `KILL_QUERY`, because KILL_QUERIES on the engine gives that procedure. */
export function pathTo(node: Node): Node[] {
  if (isKillQuery(node)) return [{ engine: true }, ...pathTo(nodeOf({ ...node, routine: null })), nodeOf(node)];
  const parent = parentOf(node);
  return parent === null ? [nodeOf(node)] : [...pathTo(parent), nodeOf(node)];
}

/** Whether grants and policies on `upperNode` apply to `node`: both are the same, or `upperNode` is above. The root is not above `system`; the engine is above queries. */
export function covers(upperNode: Node, node: Node): boolean {
  if (upperNode.engine === true && node.queries !== undefined) return true;
  if (isOutsideCatalogs(upperNode) || isOutsideCatalogs(node)) return nodeKey(upperNode) === nodeKey(node);
  return (
    (upperNode.catalog === undefined ? node.catalog !== SYSTEM : upperNode.catalog === node.catalog) &&
    (upperNode.schema === undefined || upperNode.schema === node.schema) &&
    (upperNode.table === undefined || upperNode.table === node.table) &&
    (upperNode.routine === undefined || upperNode.routine === node.routine)
  );
}

/** Whether a node is outside of the catalogs: the engine, queries or impersonation. */
export function isOutsideCatalogs({ engine, as, queries }: Node): boolean {
  return engine !== undefined || as !== undefined || queries !== undefined;
}

/** A key for a node. Different nodes have different keys, because names have no control characters. */
export function nodeKey(node: Node): string {
  if (node.engine === true) return '\0engine';
  if (node.as !== undefined) return `\0as\0${principalText(node.as)}`;
  if (node.queries !== undefined) return `\0queries\0${principalText(node.queries)}`;
  return node.routine === undefined ? namesOf(node).join('\0') : [...namesOf(node), '', node.routine].join('\0');
}

/** The text of a node for people, such as `sales.eu.orders`; empty for the root. */
export function nodeText(node: Node): string {
  if (node.engine === true) return 'the engine';
  if (node.as !== undefined) return `as ${principalText(node.as)}`;
  if (node.queries !== undefined) return `the queries of ${principalText(node.queries)}`;
  return [...namesOf(node), ...(node.routine === undefined ? [] : [node.routine])].join('.');
}

/** Orders nodes by name, parents before children: the tree with its routines, then impersonation, the engine, queries. */
export function compareNodes(a: Node, b: Node): number {
  return (
    compareNames(principalSortText(a.queries), principalSortText(b.queries)) ||
    Number(a.engine ?? false) - Number(b.engine ?? false) ||
    compareNames(principalSortText(a.as), principalSortText(b.as)) ||
    compareNames(a.catalog ?? '', b.catalog ?? '') ||
    compareNames(a.schema ?? '', b.schema ?? '') ||
    compareNames(a.table ?? '', b.table ?? '') ||
    compareNames(a.routine ?? '', b.routine ?? '')
  );
}

function principalSortText(principal: PolicyPrincipal | undefined): string {
  return principal === undefined ? '' : principalText(principal);
}

/** Orders by code units, independent of the locale. */
export function compareNames(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
