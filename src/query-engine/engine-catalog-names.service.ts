import { Injectable } from '@nestjs/common';
import { EngineNames, type EngineNode } from '../grants/domain/admission-ports.js';
import { Timers } from '../kernel/clock.js';
import { Settings } from '../platform/settings/settings.js';
import type { Node } from '../trino-rules/model/node.js';
import { expressionCheck, expressionRefusal } from './domain/expression-check.js';
import { identifier } from './domain/sql-literal.js';
import { isOpenToService, namesOf } from './engine-catalog-listing.service.js';
import { EngineConnections } from './engine-connections.service.js';
import { textPairs } from './running-statement.js';

/** Milliseconds for which writing a grant waits for the engine at most. */
const TIMEOUT_MS = 1_500;

/**
 * Looks names up as the service account, which the rules show the whole of catalogs that the settings open to it. Reports nothing about
 * other catalogs. Answers and names of errors are those of Trino 483.
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
    const known = new KnownNames();
    const open = nodes.filter((node) => this.isOpen(node));
    if (open.length > 0) await this.withinTimeout((signal) => this.readNames(open, known, signal));
    return nodes.map((node) => known.unknownPart(node));
  }

  override async expressionError(
    kind: 'row_filter' | 'column_mask',
    node: EngineNode,
    expression: string,
  ): Promise<string | null> {
    const sql = this.isOpen(node) ? expressionCheck(kind, node, expression) : null;
    if (sql === null) return null;
    const answer = await this.withinTimeout((signal) => this.connections.rowsOrError(sql, { signal }));
    return answer?.error ? expressionRefusal(answer.error) : null;
  }

  private isOpen({ catalog = '' }: Node): boolean {
    return this.settings.engine.origin !== null && isOpenToService(this.settings, catalog);
  }

  /** Reads the names with one statement for each catalog and each schema, however many nodes there are. Names read in time count. */
  private async readNames(nodes: readonly EngineNode[], known: KnownNames, signal: AbortSignal): Promise<void> {
    for (const catalog of new Set(nodes.flatMap((node) => node.catalog ?? []))) {
      const sql = `SELECT schema_name FROM ${identifier(catalog)}.information_schema.schemata`;
      const { rows, error } = await this.connections.rowsOrError(sql, { signal });
      if (error?.name === 'CATALOG_NOT_FOUND') known.addCatalog(catalog, null);
      if (rows === null) continue;
      known.addCatalog(catalog, namesOf(rows));
      const inCatalog = nodes.filter((node) => node.catalog === catalog);
      for (const schema of new Set(inCatalog.flatMap((node) => node.schema ?? []))) {
        const tables = new Set(inCatalog.flatMap((node) => (node.schema === schema ? (node.table ?? []) : [])));
        if (tables.size === 0) continue;
        const sql =
          `SELECT table_name, column_name FROM ${identifier(catalog)}.information_schema.columns ` +
          `WHERE table_schema = ? AND table_name IN (${Array.from(tables, () => '?').join(', ')})`;
        const columns = await this.connections.rowsOrError(sql, { parameters: [schema, ...tables], signal });
        if (columns.rows !== null) known.addTables(catalog, schema, textPairs(columns.rows));
      }
    }
  }

  /** The result of work. Null: the time is over, and the work is aborted without waiting for its end. */
  private async withinTimeout<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    const late = new AbortController();
    let result: T | null = null;
    await this.timers.waitAtMost(
      TIMEOUT_MS,
      work(late.signal).then((value) => void (result = value)),
    );
    late.abort();
    return result;
  }
}

/** The engine's names read so far. A name that was not looked up never counts as unknown. */
class KnownNames {
  /** Schemas by catalog; null: there is no such catalog. */
  private readonly schemas = new Map<string, ReadonlySet<string> | null>();
  /** Columns by table, for each catalog and schema that was looked up. */
  private readonly tables = new Map<string, Map<string, Set<string>>>();

  addCatalog(catalog: string, schemas: readonly string[] | null): void {
    this.schemas.set(catalog, schemas && new Set(schemas));
  }

  /** @param columns columns of all looked-up tables, each after its table's name. */
  addTables(catalog: string, schema: string, columns: readonly [table: string, column: string][]): void {
    const tables = new Map<string, Set<string>>();
    for (const [table, column] of columns) tables.set(table, (tables.get(table) ?? new Set()).add(column));
    this.tables.set(key(catalog, schema), tables);
  }

  /** A sentence on the first part of the node that does not exist; null: no missing part is known. */
  unknownPart({ catalog, schema, table, column }: EngineNode): string | null {
    const schemas = catalog === undefined ? undefined : this.schemas.get(catalog);
    if (catalog === undefined || schemas === undefined) return null;
    if (schemas === null) return `the engine has no catalog ${catalog}`;
    // Rules from elsewhere may hide a whole catalog from the service. Then nothing is known about it.
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
