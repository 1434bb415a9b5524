import { type Named, principalName } from './principal.js';

/** The parts of a node's name, such as catalog, schema and table; none: everything. */
export function namesOf(node: object): string[] {
  const { catalog, schema, table, routine, engine, as, queries } = node as Record<string, unknown>;
  if (engine === true) return ['the engine'];
  if (as !== undefined) return [`acting as ${nameOfPrincipal(as)}`];
  if (queries !== undefined) return [`queries of ${nameOfPrincipal(queries)}`];
  return [catalog, schema, table, routine].filter((name) => typeof name === 'string');
}

function nameOfPrincipal(principal: unknown): string {
  const named = principal as Named;
  return principalName(named) || `${named.type} ${named.id ?? ''}`;
}

/** *sales.eu.orders*, *everything*. */
export function pathText(node: object): string {
  return namesOf(node).join('.') || 'everything';
}

export function isNonDataNode(node: object): boolean {
  return ['engine', 'as', 'queries'].some((field) => (node as Record<string, unknown>)[field] !== undefined);
}

/** The page of a node. A routine is on the page of its schema, a node outside of the tree on the page of the engine. */
export function addressOfNode(node: object): string {
  const { catalog, schema, table } = node as Record<string, unknown>;
  if (isNonDataNode(node)) return '/engine';
  const names = [catalog, schema, table].filter((name) => typeof name === 'string');
  return ['/data', ...names.map(encodeURIComponent)].join('/');
}

/** Names of a node of the tree, from the catalog down; an empty name means all. */
export interface NodeNames {
  catalog: string;
  schema: string;
  table: string;
}

export const NO_NAMES: NodeNames = { catalog: '', schema: '', table: '' };

/** The node that names stand for. */
export function nodeOfNames({ catalog, schema, table }: NodeNames) {
  return nodeAt([catalog, schema, table]);
}

/** The node of a path from the top, up to its first empty name. */
export function nodeAt([catalog = '', schema = '', table = '']: readonly string[]) {
  if (catalog === '') return {};
  if (schema === '') return { catalog };
  return table === '' ? { catalog, schema } : { catalog, schema, table };
}

/** A name as SQL writes it: in double quotes unless it is plain. */
export function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Names as SQL and the API write them, with dots between. */
export function sqlPath(names: readonly string[]): string {
  return names.map(quoteName).join('.');
}

/** Most entries that are shown. */
const MOST = 5;

/** The entries whose nodes share the longest path with a node of the data, in their order. */
export function nearestEntries<T extends { resource: object }>(node: object, entries: readonly T[]): T[] {
  const names = namesOf(node);
  const shared = ({ resource }: T): number => {
    const others = namesOf(resource);
    const end = names.findIndex((name, at) => name !== others[at]);
    return end === -1 ? names.length : end;
  };
  return [...entries].sort((a, b) => shared(b) - shared(a)).slice(0, MOST);
}
