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

/** Seconds for which a page of names waits for the engine. */
const TIMEOUT = 5;

const INFORMATION_SCHEMA = 'information_schema';

/**
 * Lists names as one user sees them, because the engine filters each list by the rules. The service account sees the whole of catalogs that
 * the settings open to it. Of other catalogs it sees little, so a name missing there may still exist.
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
    const { catalog } = request.under;
    const isOpen = (name: string): boolean => username !== null || isOpenToService(this.settings, name);
    if (catalog !== undefined && !isOpen(catalog)) return 'closed';
    // Names for a user are never read as the service account.
    if (username !== null && !(await this.identity.respectsUserHeaders())) return 'unavailable';
    const ask = this.askAs(username, signal);
    try {
      if (catalog === undefined) return paged(namesOf(await ask('SHOW CATALOGS')), request, isOpen);
      if (request.under.schema !== undefined) return await tables(ask, catalog, request.under.schema, request);
      const schemas = namesOf(await ask(`SELECT schema_name FROM ${identifier(catalog)}.information_schema.schemata`));
      return schemas.length === 0 ? 'closed' : paged(schemas, request, () => true);
    } catch (error) {
      return silenceOf(error);
    }
  }

  override async tables(request: TablesRequest, signal: AbortSignal): Promise<EngineTables | NoListing> {
    if (this.settings.engine.origin === null) return 'none';
    if (!isOpenToService(this.settings, request.catalog)) return 'closed';
    try {
      return await tablesNamed(this.askAs(null, signal), request);
    } catch (error) {
      const silence = silenceOf(error);
      return typeof silence === 'string' ? silence : { tables: [], total: 0 };
    }
  }

  private askAs(username: string | null, signal: AbortSignal): Ask {
    return (sql, parameters = []) =>
      this.connections.readRows(sql, {
        ...{ parameters, signal, timeout: TIMEOUT },
        ...(username !== null && { session: { user: username } }),
      });
  }
}

/** Whether the settings open a catalog to the service account. */
export function isOpenToService({ acl }: Settings, catalog: string): boolean {
  return acl.readableCatalogs.includes(catalog) || acl.writableCatalogs.includes(catalog);
}

type Ask = (sql: string, parameters?: readonly Parameter[]) => Promise<Row[]>;

/** A page of a schema's tables, which the engine counts and cuts, because there can be very many. */
async function tables(ask: Ask, catalog: string, schema: string, page: ChildrenRequest): Promise<EngineListing> {
  const rows = await ask(
    `SELECT name, total FROM (SELECT table_name AS name, count(*) OVER () AS total ` +
      `FROM ${identifier(catalog)}.information_schema.tables WHERE table_schema = ? AND strpos(table_name, ?) > 0) ` +
      `WHERE name > ? ORDER BY name LIMIT ${page.limit + 1}`,
    [schema, page.q, page.after ?? ''],
  );
  return { names: namesOf(rows), total: Number(rows[0]?.[1] ?? 0), isJudge: () => true };
}

async function tablesNamed(ask: Ask, { catalog, q, limit }: TablesRequest): Promise<EngineTables> {
  const rows = await ask(
    `SELECT table_schema, table_name, count(*) OVER () FROM ${identifier(catalog)}.information_schema.tables ` +
      `WHERE table_schema <> '${INFORMATION_SCHEMA}' AND strpos(table_name, ?) > 0 ORDER BY 1, 2 LIMIT ${limit}`,
    [q],
  );
  return { tables: textPairs(rows).map(([schema, name]) => ({ schema, name })), total: Number(rows[0]?.[2] ?? 0) };
}

/** Cuts a page out of a whole list, for lists that are short enough to read wholly. */
function paged(all: string[], { q, after, limit }: ChildrenRequest, isJudge: EngineListing['isJudge']): EngineListing {
  const found = all.filter((name) => name !== INFORMATION_SCHEMA && name.includes(q)).sort(compareNames);
  const behind = after === null ? found : found.filter((name) => compareNames(name, after) > 0);
  return { names: behind.slice(0, limit + 1), total: found.length, isJudge };
}

/** The first value of each row. */
export function namesOf(rows: readonly Row[]): string[] {
  return rows.flatMap(([name]) => (typeof name === 'string' ? [name] : []));
}

/** The listing or silence that an error of the engine stands for. @throws any other error */
function silenceOf(error: unknown): EngineListing | NoListing {
  if (!(error instanceof DbApiError)) throw error;
  const name = error instanceof DatabaseError ? error.engine?.name : undefined;
  if (name === 'CATALOG_NOT_FOUND') return { names: [], total: 0, isJudge: () => true };
  return name === 'PERMISSION_DENIED' ? 'closed' : 'unavailable';
}
