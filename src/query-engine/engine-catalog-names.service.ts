import { Injectable } from '@nestjs/common';
import { EngineNames, type EngineNode } from '../grants/domain/admission-ports.js';
import { Timers } from '../kernel/clock.js';
import { Settings } from '../platform/settings/settings.js';
import type { Node } from '../trino-rules/model/node.js';
import { expressionCheck, expressionRefusal } from './domain/expression-check.js';
import { identifier } from './domain/sql-literal.js';
import { isOpenToService, firstColumn } from './engine-catalog-listing.service.js';
import { EngineConnections } from './engine-connections.service.js';
import { textPairs } from './running-statement.js';

/** The longest time in milliseconds that writing a grant waits for the engine. */
const TIMEOUT_MS = 1_500;

/**
 * Looks names up as the service account, which sees all names in the catalogs that the settings let it read. Reports nothing about other catalogs.
 * Relies on the answers and error names of Trino 483.
 */
@Injectable()
export class EngineCatalogNames extends EngineNames {
  constructor(
    private readonly connections: EngineConnections,
    private readonly timers: Timers,
    private readonly settings: Settings,
  ) {
    super();
  }

  override async unknownParts(nodes: readonly EngineNode[]): Promise<(string | null)[]> {
    const names = new LookedUpNames();
    const readableNodes = nodes.filter((node) => this.isReadable(node));
    if (readableNodes.length > 0) await this.runWithTimeout((signal) => this.readNames(readableNodes, names, signal));
    return nodes.map((node) => names.unknownPart(node));
  }

  override async expressionError(
    kind: 'row_filter' | 'column_mask',
    node: EngineNode,
    expression: string,
  ): Promise<string | null> {
    const sql = this.isReadable(node) ? expressionCheck(kind, node, expression) : null;
    if (sql === null) return null;
    const answer = await this.runWithTimeout((signal) => this.connections.rowsOrError(sql, { signal }));
    return answer?.error ? expressionRefusal(answer.error) : null;
  }

  private isReadable({ catalog = '' }: Node): boolean {
    return this.settings.engine.origin !== null && isOpenToService(this.settings, catalog);
  }

  /** Reads the names with one statement for each catalog and each schema, however many nodes there are. Names read before an abort are kept. */
  private async readNames(nodes: readonly EngineNode[], names: LookedUpNames, signal: AbortSignal): Promise<void> {
    for (const catalog of new Set(nodes.flatMap((node) => node.catalog ?? []))) {
      const sql = `SELECT schema_name FROM ${identifier(catalog)}.information_schema.schemata`;
      const { rows, error } = await this.connections.rowsOrError(sql, { signal });
      if (error?.name === 'CATALOG_NOT_FOUND') names.addCatalog(catalog, null);
      if (rows === null) continue;
      names.addCatalog(catalog, firstColumn(rows));
      const catalogNodes = nodes.filter((node) => node.catalog === catalog);
      for (const schema of new Set(catalogNodes.flatMap((node) => node.schema ?? []))) {
        const tables = new Set(catalogNodes.flatMap((node) => (node.schema === schema ? (node.table ?? []) : [])));
        if (tables.size === 0) continue;
        const sql =
          `SELECT table_name, column_name FROM ${identifier(catalog)}.information_schema.columns ` +
          `WHERE table_schema = ? AND table_name IN (${Array.from(tables, () => '?').join(', ')})`;
        const columnsAnswer = await this.connections.rowsOrError(sql, { parameters: [schema, ...tables], signal });
        if (columnsAnswer.rows !== null) names.addTables(catalog, schema, textPairs(columnsAnswer.rows));
      }
    }
  }

  /** Runs `work` for at most TIMEOUT_MS. @returns its result; null: it took longer, and was aborted without waiting for its end. */
  private async runWithTimeout<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    const timeoutController = new AbortController();
    let result: T | null = null;
    await this.timers.waitAtMost(
      TIMEOUT_MS,
      work(timeoutController.signal).then((value) => void (result = value)),
    );
    timeoutController.abort();
    return result;
  }
}

/** The engine's names read so far. A name that was not looked up is assumed to exist. */
class LookedUpNames {
  /** Schemas by catalog; null: there is no such catalog. */
  private readonly schemasByCatalog = new Map<string, ReadonlySet<string> | null>();
  /** Columns by table, for each catalog and schema that was looked up. */
  private readonly tablesBySchema = new Map<string, Map<string, Set<string>>>();

  addCatalog(catalog: string, schemas: readonly string[] | null): void {
    this.schemasByCatalog.set(catalog, schemas && new Set(schemas));
  }

  /** @param columns all columns of the schema's looked-up tables, each with its table's name. */
  addTables(catalog: string, schema: string, columns: readonly [table: string, column: string][]): void {
    const tables = new Map<string, Set<string>>();
    for (const [table, column] of columns) tables.set(table, (tables.get(table) ?? new Set()).add(column));
    this.tablesBySchema.set(schemaKey(catalog, schema), tables);
  }

  /** A sentence on the first part of the node that does not exist; null: no missing part is known. */
  unknownPart({ catalog, schema, table, column }: EngineNode): string | null {
    const schemas = catalog === undefined ? undefined : this.schemasByCatalog.get(catalog);
    if (catalog === undefined || schemas === undefined) return null;
    if (schemas === null) return `the engine has no catalog ${catalog}`;
    // Rules that Grantline did not write may hide a catalog from the service account. Nothing is then known about the catalog.
    const isHidden = ![...schemas].some((name) => name !== 'information_schema');
    if (schema === undefined || isHidden) return null;
    if (!schemas.has(schema)) return `the engine has no schema ${catalog}.${schema}`;
    const tables = this.tablesBySchema.get(schemaKey(catalog, schema));
    if (table === undefined || tables === undefined) return null;
    const columns = tables.get(table);
    if (columns === undefined) return `the engine has no table ${catalog}.${schema}.${table}`;
    if (column === undefined || columns.has(column)) return null;
    return `the engine has no column ${column} in ${catalog}.${schema}.${table}`;
  }
}

function schemaKey(catalog: string, schema: string): string {
  return JSON.stringify([catalog, schema]);
}
