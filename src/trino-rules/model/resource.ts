import type { Node } from './node.js';

/** A node that a grant or a policy can name: any but the root. */
export interface Resource extends Node {
  catalog: string;
}

/** What a column mask or a hidden column names: one column name, in everything below the node. */
export interface ColumnResource extends Resource {
  column: string;
}

/**
 * Why `resource` is closed to grants and policies; null: it is open. The engine lets a user that
 * may enter a catalog read its `information_schema`, filtered, whatever the rules say (seen on 483).
 */
export function closedProblem({ catalog, schema }: Resource, metadataCatalog: string | null): string | null {
  if (catalog === metadataCatalog) return `nobody may be given anything in ${catalog}, the service's own catalog`;
  if (catalog === 'system') return 'nobody may be given anything in the catalog system';
  if (schema === 'information_schema') return 'the engine keeps information_schema itself; no rule holds there';
  return null;
}
