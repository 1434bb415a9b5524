import { isInTree, nodeText, SYSTEM, type Node } from './node.js';

/** What a column mask or a hidden column names: one column name, in everything below the node. */
export interface ColumnResource extends Node {
  column: string;
}

/** Why nothing but a deny can stand on a node; null: filters, masks and hidden columns can, because people's data is there. */
export function restrictionProblem(node: Node): string | null {
  const isData = isInTree(node) && node.catalog !== SYSTEM;
  return isData ? null : `only a deny can be on ${nodeText(node)}`;
}

/** Of the catalog `system`: its tables are in these. */
export const SYSTEM_SCHEMAS = ['jdbc', 'metadata', 'runtime'];

/**
 * Why `resource` is closed to grants and policies; null: it is open. The engine lets a user that
 * may enter a catalog read its `information_schema`, filtered, whatever the rules say (seen on 483).
 */
export function closedProblem(node: Node, metadataCatalog: string | null): string | null {
  const { catalog, schema, table, routine } = node;
  if (node.engine === true || node.as !== undefined) return null;
  if (catalog === metadataCatalog) return `nobody may be given anything in ${catalog}, the service's own catalog`;
  if (catalog === SYSTEM)
    return table === undefined && routine === undefined && (schema === undefined || SYSTEM_SCHEMAS.includes(schema))
      ? null
      : `in the catalog system, only the whole of it and its schemas ${SYSTEM_SCHEMAS.join(', ')} can be named`;
  if (schema === 'information_schema') return 'the engine keeps information_schema itself; no rule holds there';
  return null;
}
