import type { Resource } from '../../trino-rules/model/resource.js';

/** A node, or a column in everything below it. */
export type EngineNode = Resource & { column?: string };

/**
 * Port: the engine's catalogs, and its analysis of expressions. `query-engine` implements it. Answers within one or two seconds,
 * and with null where the engine does not answer.
 */
export abstract class EngineNames {
  /** For each node a sentence on the part that the engine does not know; null: all is known, or no answer. */
  abstract unknownParts(nodes: readonly EngineNode[]): Promise<(string | null)[]>;
  /** A sentence on why the engine cannot analyse a filter or mask on a table; null: it can, or no answer. */
  abstract expressionError(
    kind: 'row_filter' | 'column_mask',
    node: Resource,
    expression: string,
  ): Promise<string | null>;
}
