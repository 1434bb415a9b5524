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

export function isBesideData(node: object): boolean {
  return ['engine', 'as', 'queries'].some((field) => (node as Record<string, unknown>)[field] !== undefined);
}

/** The page of a node: of a routine its schema's, of what is beside the data its own. */
export function addressOfNode(node: object): string {
  const { catalog, schema, table } = node as Record<string, unknown>;
  if (isBesideData(node)) return '/engine';
  const names = [catalog, schema, table].filter((name) => typeof name === 'string');
  return ['/data', ...names.map(encodeURIComponent)].join('/');
}
