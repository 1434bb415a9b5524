import type { Schemas } from '../api/client.js';
import { principalName, type PrincipalRef } from './principal.js';

/** The parts of a node's name, such as catalog, schema and table. Empty for the node *everything*. */
export function namesOf(node: object): string[] {
  const { catalog, schema, table, routine, engine, as, queries } = node as Record<string, unknown>;
  if (engine === true) return ['the engine'];
  if (as !== undefined) return [`acting as ${nameOfPrincipal(as)}`];
  if (queries !== undefined) return [`queries of ${nameOfPrincipal(queries)}`];
  return [catalog, schema, table, routine].filter((name) => typeof name === 'string');
}

function nameOfPrincipal(principal: unknown): string {
  const principalRef = principal as PrincipalRef;
  return principalName(principalRef) || `${principalRef.type} ${principalRef.id ?? ''}`;
}

/** The path of a node: *sales.eu.orders*, *everything*. */
export function pathText(node: object): string {
  return namesOf(node).join('.') || 'everything';
}

export function isNonDataNode(node: object): boolean {
  return ['engine', 'as', 'queries'].some((field) => (node as Record<string, unknown>)[field] !== undefined);
}

/** The address of the page about a node. A routine is on the page of its schema; nodes that are not data are on the page of the engine. */
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

export const EMPTY_NAMES: NodeNames = { catalog: '', schema: '', table: '' };

/** The node with these names, up to the first empty one. */
export function nodeAt([catalog = '', schema = '', table = '']: readonly string[]) {
  if (catalog === '') return {};
  if (schema === '') return { catalog };
  return table === '' ? { catalog, schema } : { catalog, schema, table };
}

/** A name as SQL writes it: in double quotes unless it is plain. */
export function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** A path as SQL and the API write it: `sales.eu."Orders"`. */
export function sqlPath(names: readonly string[]): string {
  return names.map(quoteName).join('.');
}

/** At most five entries. Entries whose nodes share the longest path with the given node come first. */
export function nearestEntries<T extends { resource: object }>(node: object, entries: readonly T[]): T[] {
  const names = namesOf(node);
  const sharedPathLength = ({ resource }: T): number => {
    const otherNames = namesOf(resource);
    const differingIndex = names.findIndex((name, index) => name !== otherNames[index]);
    return differingIndex === -1 ? names.length : differingIndex;
  };
  return [...entries].sort((a, b) => sharedPathLength(b) - sharedPathLength(a)).slice(0, 5);
}

export type HolderWay = Schemas['HolderWayResponse'];
type ViaResponse = Schemas['ViaResponse'];

export function wayKey({ group }: Pick<HolderWay, 'group'>): string {
  return group === null ? 'directly' : `group:${group.id}`;
}

const LEVELS: readonly string[] = ['everything', 'catalog', 'schema'];

/** The ways in which a holder has access to a node: through which group, from which node above, and until when. */
export function accessWaysOf(via: readonly ViaResponse[], node: object) {
  const nodePath = namesOf(node);
  return via.map(({ group, level, expires_at: expiresAt, is_for_everyone: isForEveryone }) => {
    const levelIndex = LEVELS.indexOf(level);
    return {
      through: group !== null ? { group } : isForEveryone ? ('everyone' as const) : ('directly' as const),
      inheritedFrom: levelIndex >= 0 && levelIndex < nodePath.length ? nodeAt(nodePath.slice(0, levelIndex)) : null,
      expiresAt,
    };
  });
}
