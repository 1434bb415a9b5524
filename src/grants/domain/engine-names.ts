import type { Resource } from '../../trino-rules/model/resource.js';

/** A node, or a column in everything below it. */
export type EngineNode = Resource & { column?: string };

/**
 * What the engine itself knows: its catalogs, and how it reads an expression. `query-engine` provides it. It answers within a
 * second or two or not at all, and says nothing where it cannot tell: what is unknown today may be made tomorrow.
 */
export abstract class EngineNames {
  /** For each node what the engine does not know of it, as a sentence; null: all is known, or it cannot be told now. */
  abstract unknownParts(nodes: readonly EngineNode[]): Promise<(string | null)[]>;
  /** Why the engine cannot read a filter or a mask on a table, as a sentence; null: it can, or it cannot be told now. */
  abstract misreading(kind: 'row_filter' | 'column_mask', node: Resource, expression: string): Promise<string | null>;
}
