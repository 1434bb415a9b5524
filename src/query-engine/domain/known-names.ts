import type { EngineNode } from '../../grants/domain/admission-ports.js';

/** The names of the engine that have been read so far. Names that were not looked up are never called unknown. */
export class KnownNames {
  /** Null: there is no such catalog. */
  private readonly schemas = new Map<string, ReadonlySet<string> | null>();
  /** By catalog and schema: the columns of the tables that were looked up. */
  private readonly tables = new Map<string, Map<string, Set<string>>>();

  learnCatalog(catalog: string, schemas: readonly string[] | null): void {
    this.schemas.set(catalog, schemas && new Set(schemas));
  }

  /** @param columns of all tables that were looked up. */
  learnTables(catalog: string, schema: string, columns: readonly { table: string; column: string }[]): void {
    const tables = new Map<string, Set<string>>();
    for (const { table, column } of columns) tables.set(table, (tables.get(table) ?? new Set()).add(column));
    this.tables.set(key(catalog, schema), tables);
  }

  /** A sentence about the first part that does not exist; null: none, as far as is known. */
  unknownPart({ catalog, schema, table, column }: EngineNode): string | null {
    const schemas = catalog === undefined ? undefined : this.schemas.get(catalog);
    if (catalog === undefined || schemas === undefined) return null;
    if (schemas === null) return `the engine has no catalog ${catalog}`;
    // Rules of others may hide a whole catalog from the service: then nothing is known of it.
    const isHidden = ![...schemas].some((name) => name !== 'information_schema');
    if (schema === undefined || isHidden) return null;
    if (!schemas.has(schema)) return `the engine has no schema ${catalog}.${schema}`;
    const tables = this.tables.get(key(catalog, schema));
    if (table === undefined || tables === undefined) return null;
    const columns = tables.get(table);
    if (columns === undefined) return `the engine has no table ${catalog}.${schema}.${table}`;
    if (column === undefined || columns.has(column)) return null;
    return `the engine has no column ${column} in ${catalog}.${schema}.${table}`;
  }
}

function key(catalog: string, schema: string): string {
  return JSON.stringify([catalog, schema]);
}
