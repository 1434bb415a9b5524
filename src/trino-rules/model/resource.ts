import { isInTree, isKillQuery, kindOf, principalIn, nodeText, SYSTEM, type Node, type NodeKind } from './node.js';
import { type Privilege, privilegesOn } from './privilege.js';

/** The resource of a column mask or a hidden column: the column of this name in all tables at the node and below. */
export interface ColumnResource extends Node {
  column: string;
}

/** The reason why filters, masks and hidden columns cannot be on a node; null: they can. */
export function restrictionProblem(node: Node): string | null {
  const holdsData = isInTree(node) && node.catalog !== SYSTEM;
  return holdsData ? null : `only a deny can be on ${nodeText(node)}`;
}

export const SYSTEM_SCHEMAS = ['jdbc', 'metadata', 'runtime'];

/** The reason why grants and policies cannot be on a node; null: they can. */
export function closedProblem(node: Node, metadataCatalog: string | null): string | null {
  const { catalog, schema, routine } = node;
  if (node.engine === true || principalIn(node) !== undefined) return null;
  if (catalog === metadataCatalog) return `nobody may be given anything in ${catalog}, the service's own catalog`;
  if (catalog === SYSTEM)
    return schema === undefined || (routine === undefined && SYSTEM_SCHEMAS.includes(schema)) || isKillQuery(node)
      ? null
      : `in the catalog system, only the whole of it, its schemas ${SYSTEM_SCHEMAS.join(', ')}, their tables and runtime.kill_query can be named`;
  // The engine lets every user with access to a catalog read this schema, filtered, independent of the rules (seen on 483).
  if (schema === 'information_schema') return 'the engine keeps information_schema itself; no rule holds there';
  return null;
}

/** Schemas of the catalog `system` that the engine filters per user, and that BI tools need. */
export const OPEN_SYSTEM_SCHEMAS = ['jdbc', 'metadata'];

/** Whether users with access to anything may also read this node of the catalog `system`. */
export function isOpenSystemNode(node: Node): boolean {
  const { catalog, schema } = node;
  return catalog === SYSTEM && schema !== undefined && OPEN_SYSTEM_SCHEMAS.includes(schema) && isInTree(node);
}

/** The reason why these privileges cannot be granted or denied on a node; null: they can. */
export function privilegesProblem(privileges: readonly Privilege[], node: Node): string | null {
  const possiblePrivileges = privilegesOn(node);
  const misplacedPrivileges = privileges.filter((privilege) => !possiblePrivileges.includes(privilege));
  if (misplacedPrivileges.length === 0) return null;
  const placeText = node.catalog === SYSTEM ? 'in the catalog system' : `on ${KIND_TEXTS[kindOf(node)]}`;
  const misplacedText = misplacedPrivileges.join(', ');
  if (possiblePrivileges.length === 0) return `${misplacedText} cannot be given ${placeText}`;
  // The possible privileges come first, because answers cut a message at 200 characters.
  return `${placeText} must be among ${possiblePrivileges.join(', ')}, not ${misplacedText}`;
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
