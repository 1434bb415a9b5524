import { isInTree, isKillQuery, kindOf, namedBy, nodeText, SYSTEM, type Node, type NodeKind } from './node.js';
import { type Privilege, privilegesOn } from './privilege.js';

/** Resource of a column mask or a hidden column: one column name, in all tables at the node and below. */
export interface ColumnResource extends Node {
  column: string;
}

/** Why a node can only have denies; null: it can also have filters, masks and hidden columns. */
export function restrictionProblem(node: Node): string | null {
  const isData = isInTree(node) && node.catalog !== SYSTEM;
  return isData ? null : `only a deny can be on ${nodeText(node)}`;
}

/** The schemas of the catalog `system`. */
export const SYSTEM_SCHEMAS = ['jdbc', 'metadata', 'runtime'];

/**
 * Why `resource` is closed to grants and policies; null: it is open. The engine lets a user that
 * may enter a catalog read its `information_schema`, filtered, whatever the rules say (seen on 483).
 */
export function closedProblem(node: Node, metadataCatalog: string | null): string | null {
  const { catalog, schema, routine } = node;
  if (node.engine === true || namedBy(node) !== undefined) return null;
  if (catalog === metadataCatalog) return `nobody may be given anything in ${catalog}, the service's own catalog`;
  if (catalog === SYSTEM)
    return schema === undefined || (routine === undefined && SYSTEM_SCHEMAS.includes(schema)) || isKillQuery(node)
      ? null
      : `in the catalog system, only the whole of it, its schemas ${SYSTEM_SCHEMAS.join(', ')}, their tables and runtime.kill_query can be named`;
  if (schema === 'information_schema') return 'the engine keeps information_schema itself; no rule holds there';
  return null;
}

/** Schemas of the catalog `system` that the engine filters per user, and that BI tools need. */
export const OPEN_SYSTEM_SCHEMAS = ['jdbc', 'metadata'];

/** Whether every user with any access reads a node of `system`, unless denied. */
export function isOpenSystem(node: Node): boolean {
  const { catalog, schema } = node;
  return catalog === SYSTEM && schema !== undefined && OPEN_SYSTEM_SCHEMAS.includes(schema) && isInTree(node);
}

/** Why these cannot be granted or denied together on a node; null: they can. */
export function privilegesProblem(privileges: readonly Privilege[], node: Node): string | null {
  const open = privilegesOn(node);
  const misplaced = privileges.filter((privilege) => !open.includes(privilege));
  if (misplaced.length === 0) return null;
  const where = node.catalog === SYSTEM ? 'in the catalog system' : `on ${KIND_TEXTS[kindOf(node)]}`;
  return `${misplaced.join(', ')} cannot be given ${where}${open.length > 0 ? `, which has ${open.join(', ')}` : ''}`;
}

const KIND_TEXTS: Readonly<Record<NodeKind, string>> = {
  everything: 'everything',
  catalog: 'a catalog',
  schema: 'a schema',
  table: 'a table',
  routine: 'a routine',
  engine: 'the engine',
  queries: 'queries',
  acting: 'acting as others',
};
