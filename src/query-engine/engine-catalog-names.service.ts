import { Injectable } from '@nestjs/common';
import { EngineNames, type EngineNode } from '../grants/domain/admission-ports.js';
import { Timers } from '../kernel/clock.js';
import { Settings } from '../platform/settings/settings.js';
import type { Node } from '../trino-rules/model/node.js';
import type { Row } from './running-statement.js';
import { DatabaseError, DbApiError } from './domain/db-api-errors.js';
import type { EngineError } from './domain/engine-error.js';
import { expressionCheck, misread } from './domain/expression-check.js';
import { identifier, type Parameter } from './domain/sql-literal.js';
import { isOpenToService, namesOf } from './engine-catalog-listing.service.js';
import { EngineConnections } from './engine-connections.service.js';

/** The longest that writing a grant waits for the engine. */
const TIMEOUT_MS = 1_500;

type Answer = { kind: 'rows'; rows: Row[] } | { kind: 'error'; error: EngineError | null };

/**
 * Looks names up as the service account, to which the rules show all of the catalogs that the settings open to it. Of other
 * catalogs it reports nothing. Answers and names of errors as seen on Trino 483.
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
    if (open.length > 0) await this.inTime((signal) => this.learn(open, known, signal));
    return nodes.map((node) => known.unknownPart(node));
  }

  override async expressionError(
    kind: 'row_filter' | 'column_mask',
    node: EngineNode,
    expression: string,
  ): Promise<string | null> {
    const sql = this.isOpen(node) ? expressionCheck(kind, node, expression) : null;
    if (sql === null) return null;
    const answer = await this.inTime((signal) => this.ask(sql, [], signal));
    return answer?.kind === 'error' && answer.error !== null ? misread(answer.error) : null;
  }

  private isOpen({ catalog = '' }: Node): boolean {
    return this.settings.engine.origin !== null && isOpenToService(this.settings, catalog);
  }

  /** One statement for each catalog and one for each schema, however many nodes there are. Names that were read in time count. */
  private async learn(nodes: readonly EngineNode[], known: KnownNames, signal: AbortSignal): Promise<void> {
    for (const catalog of new Set(nodes.flatMap((node) => node.catalog ?? []))) {
      const answer = await this.ask(
        `SELECT schema_name FROM ${identifier(catalog)}.information_schema.schemata`,
        [],
        signal,
      );
      if (answer.kind === 'error') {
        if (answer.error?.name === 'CATALOG_NOT_FOUND') known.learnCatalog(catalog, null);
        continue;
      }
      known.learnCatalog(catalog, namesOf(answer.rows));
      const inCatalog = nodes.filter((node) => node.catalog === catalog);
      for (const schema of new Set(inCatalog.flatMap((node) => node.schema ?? []))) {
        const tables = inCatalog.flatMap((node) => (node.schema === schema ? (node.table ?? []) : []));
        if (tables.length > 0) await this.learnTables({ catalog, schema }, [...new Set(tables)], known, signal);
      }
    }
  }

  private async learnTables(
    { catalog, schema }: { catalog: string; schema: string },
    tables: readonly string[],
    known: KnownNames,
    signal: AbortSignal,
  ): Promise<void> {
    const sql =
      `SELECT table_name, column_name FROM ${identifier(catalog)}.information_schema.columns ` +
      `WHERE table_schema = ? AND table_name IN (${tables.map(() => '?').join(', ')})`;
    const answer = await this.ask(sql, [schema, ...tables], signal);
    if (answer.kind === 'error') return;
    const columns = answer.rows.flatMap(([table, column]) =>
      typeof table === 'string' && typeof column === 'string' ? [{ table, column }] : [],
    );
    known.learnTables(catalog, schema, columns);
  }

  private async ask(sql: string, parameters: readonly Parameter[], signal: AbortSignal): Promise<Answer> {
    try {
      return { kind: 'rows', rows: await this.connections.rowsOf(sql, { parameters, signal }) };
    } catch (error) {
      if (!(error instanceof DbApiError)) throw error;
      return { kind: 'error', error: error instanceof DatabaseError ? error.engine : null };
    }
  }

  /** Null: the time is over. The work is aborted then, and its end not waited for. */
  private async inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    const late = new AbortController();
    let result: T | null = null;
    await this.timers.atMost(
      TIMEOUT_MS,
      work(late.signal).then((value) => void (result = value)),
    );
    late.abort();
    return result;
  }
}

/** The names of the engine that have been read so far. Names that were not looked up are never called unknown. */
class KnownNames {
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
