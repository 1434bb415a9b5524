import type { Resource } from './resource.js';

/**
 * The engine's own catalogs, schemas, tables and columns, as far as they can be asked for. `query-engine` provides it; a service
 * without an engine has none.
 */
export abstract class EngineNames {
  /** What of the node (or column) the engine does not know, as a sentence; null: all is known, or it cannot be told now. */
  abstract unknownPart(resource: Resource & { column?: string }): Promise<string | null>;
}
