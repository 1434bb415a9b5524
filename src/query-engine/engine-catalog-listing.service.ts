import { Injectable } from '@nestjs/common';
import {
  type ChildrenRequest,
  EngineCatalog,
  type EngineListing,
  type NoListing,
  type EngineTables,
  type TablesRequest,
} from '../grants/domain/catalog.js';
import { Settings } from '../platform/settings/settings.js';
import { compareNames } from '../trino-rules/model/node.js';
import { type Row, textPairs } from './running-statement.js';
import { DatabaseError, DbApiError } from './domain/db-api-errors.js';
import { identifier, type Parameter } from './domain/sql-literal.js';
import { EngineConnections } from './engine-connections.service.js';
import { EngineIdentity } from './engine-identity.service.js';

const TIMEOUT_SECONDS = 5;

const INFORMATION_SCHEMA = 'information_schema';

/**
 * Lists the engine's names as a user or the service account sees them: the engine filters lists by the rules. The service account sees
 * all names in the catalogs that the settings let it read. In other catalogs it sees few, so a name that is not listed there may still exist.
 */
@Injectable()
export class EngineCatalogListing extends EngineCatalog {
  constructor(
    private readonly connections: EngineConnections,
    private readonly identity: EngineIdentity,
    private readonly settings: Settings,
  ) {
    super();
  }

  override async children(
    request: ChildrenRequest,
    username: string | null,
    signal: AbortSignal,
  ): Promise<EngineListing | NoListing> {
    const { engine } = this.settings;
    if (engine.origin === null || (username !== null && !engine.impersonation)) return 'none';
    const { catalog } = request.parent;
    const isOpen = (name: string): boolean => username !== null || isOpenToService(this.settings, name);
    if (catalog !== undefined && !isOpen(catalog)) return 'closed';
    // An engine that ignores the user headers would list the names that the service account may see.
    if (username !== null && !(await this.identity.respectsUserHeaders())) return 'unavailable';
    const runQuery = this.queryRunnerFor(username, signal);
    try {
      if (catalog === undefined) return pageOfNames(firstColumn(await runQuery('SHOW CATALOGS')), request, isOpen);
      if (request.parent.schema !== undefined) return await tables(runQuery, catalog, request.parent.schema, request);
      const schemas = firstColumn(
        await runQuery(`SELECT schema_name FROM ${identifier(catalog)}.information_schema.schemata`),
      );
      return schemas.length === 0 ? 'closed' : pageOfNames(schemas, request, () => true);
    } catch (error) {
      return listingOfError(error);
    }
  }

  override async tables(request: TablesRequest, signal: AbortSignal): Promise<EngineTables | NoListing> {
    if (this.settings.engine.origin === null) return 'none';
    if (!isOpenToService(this.settings, request.catalog)) return 'closed';
    try {
      return await findTables(this.queryRunnerFor(null, signal), request);
    } catch (error) {
      const listingOrReason = listingOfError(error);
      return typeof listingOrReason === 'string' ? listingOrReason : { tables: [], total: 0 };
    }
  }

  private queryRunnerFor(username: string | null, signal: AbortSignal): RunQuery {
    return (sql, parameters = []) =>
      this.connections.readRows(sql, {
        ...{ parameters, signal, timeout: TIMEOUT_SECONDS },
        ...(username !== null && { session: { user: username } }),
      });
  }
}

export function isOpenToService({ acl }: Settings, catalog: string): boolean {
  return acl.readableCatalogs.includes(catalog) || acl.writableCatalogs.includes(catalog);
}

type RunQuery = (sql: string, parameters?: readonly Parameter[]) => Promise<Row[]>;

/** A page of a schema's tables. The engine counts and limits the tables, because a schema can have very many. */
async function tables(query: RunQuery, catalog: string, schema: string, page: ChildrenRequest): Promise<EngineListing> {
  const rows = await query(
    `SELECT name, total FROM (SELECT table_name AS name, count(*) OVER () AS total ` +
      `FROM ${identifier(catalog)}.information_schema.tables WHERE table_schema = ? AND strpos(table_name, ?) > 0) ` +
      `WHERE name > ? ORDER BY name LIMIT ${page.limit + 1}`,
    [schema, page.namePart, page.after ?? ''],
  );
  return { names: firstColumn(rows), total: Number(rows[0]?.[1] ?? 0), provesAbsence: () => true };
}

async function findTables(runQuery: RunQuery, { catalog, namePart, limit }: TablesRequest): Promise<EngineTables> {
  const rows = await runQuery(
    `SELECT table_schema, table_name, count(*) OVER () FROM ${identifier(catalog)}.information_schema.tables ` +
      `WHERE table_schema <> '${INFORMATION_SCHEMA}' AND strpos(table_name, ?) > 0 ORDER BY 1, 2 LIMIT ${limit}`,
    [namePart],
  );
  return { tables: textPairs(rows).map(([schema, name]) => ({ schema, name })), total: Number(rows[0]?.[2] ?? 0) };
}

/** A page of a list that is short enough to read completely. */
function pageOfNames(
  names: string[],
  { namePart, after, limit }: ChildrenRequest,
  provesAbsence: EngineListing['provesAbsence'],
): EngineListing {
  const matchingNames = names
    .filter((name) => name !== INFORMATION_SCHEMA && name.includes(namePart))
    .sort(compareNames);
  const remainingNames = after === null ? matchingNames : matchingNames.filter((name) => compareNames(name, after) > 0);
  return { names: remainingNames.slice(0, limit + 1), total: matchingNames.length, provesAbsence };
}

export function firstColumn(rows: readonly Row[]): string[] {
  return rows.flatMap(([name]) => (typeof name === 'string' ? [name] : []));
}

/** Converts an engine's error to a listing: an empty one if the catalog does not exist, otherwise the reason for no listing. @throws other errors */
function listingOfError(error: unknown): EngineListing | NoListing {
  if (!(error instanceof DbApiError)) throw error;
  const name = error instanceof DatabaseError ? error.engine?.name : undefined;
  if (name === 'CATALOG_NOT_FOUND') return { names: [], total: 0, provesAbsence: () => true };
  return name === 'PERMISSION_DENIED' ? 'closed' : 'unavailable';
}
