import { isInTree, nodeText, type Node } from './node.js';

/** What a column mask or a hidden column names: one column name, in everything below the node. */
export interface ColumnResource extends Node {
  column: string;
}

/** Why nothing but a deny can stand on a node; null: filters, masks and hidden columns can, because people's data is there. */
export function restrictionProblem(node: Node): string | null {
  const isData = isInTree(node) && node.catalog !== 'system';
  return isData ? null : `only a deny can be on ${nodeText(node)}`;
}

/** Whether nobody may be given anything in the catalog, so that what is granted there has no effect. */
export function isClosedCatalog(catalog: string | undefined, metadataCatalog: string | null): boolean {
  return catalog !== undefined && (catalog === metadataCatalog || catalog === 'system');
}

/**
 * Why `resource` is closed to grants and policies; null: it is open. The engine lets a user that
 * may enter a catalog read its `information_schema`, filtered, whatever the rules say (seen on 483).
 */
export function closedProblem(node: Node, metadataCatalog: string | null): string | null {
  const { catalog, schema } = node;
  if (node.engine === true) return null;
  if (!(isInTree(node) || node.routine !== undefined)) return `nothing can be given on ${nodeText(node)} yet`;
  if (catalog === metadataCatalog) return `nobody may be given anything in ${catalog}, the service's own catalog`;
  if (catalog === 'system') return 'nobody may be given anything in the catalog system';
  if (schema === 'information_schema') return 'the engine keeps information_schema itself; no rule holds there';
  return null;
}
