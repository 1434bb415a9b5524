import { OPERATIONS } from '../../../src/trino-rules/document/opa-operations.js';
import type { Chance } from '../snapshots/chance.js';
import type { Words } from '../rules/engine-question.js';

interface TableName {
  catalogName: string;
  schemaName: string;
  tableName: string;
}

/** A resource in a request of Trino's OPA plugin (read at 479). */
export interface Resource {
  user?: { user: string; groups: string[] };
  systemSessionProperty?: { name: string };
  catalogSessionProperty?: { catalogName: string; propertyName: string };
  catalog?: { name: string };
  schema?: { catalogName: string; schemaName: string; properties?: Record<string, unknown> };
  table?: TableName & { columns?: string[]; properties?: Record<string, unknown> };
  column?: TableName & { columnName: string; columnType: string };
  function?: { catalogName?: string; schemaName?: string; functionName: string };
}

export interface PluginQuestion {
  entryPoint: 'allow' | 'batch' | 'rowFilters' | 'columnMask' | 'batchColumnMasks';
  user: string;
  action: { operation: string; resource?: Resource; targetResource?: Resource; filterResources?: Resource[] };
}

/** The body of the plugin's request. The engine's groups in it must be ignored. */
export function requestOf({ user, action }: PluginQuestion): object {
  return {
    input: {
      context: { identity: { user, groups: ['admins', 'g1'] }, softwareStack: { trinoVersion: '483' } },
      action,
    },
  };
}

const TYPES = ['varchar', 'decimal(10, 2)', 'row("a b" bigint, c array(varchar))', 'varchar; DROP', ''];
const PROPERTIES = [
  {},
  { format: 'ORC' },
  { external_location: 's3://a' },
  { LOCATION: null },
  { 'sorted-by': 1, my_url: 2 },
];
/** As the engine writes those that are not quoted in the statement. */
const PROCEDURES = ['OPTIMIZE', 'ADD_FILES', 'ADD_FILES_FROM_TABLE', 'ROLLBACK_TO_SNAPSHOT'];

/** A question in one of the plugin's shapes, about words of a snapshot; mostly about somebody who has something there. */
export function drawQuestion(words: Words, chance: Chance): PluginQuestion {
  const one = <T>(items: readonly T[]): T => items[chance.below(items.length)] as T;
  const some = (items: readonly string[]): string[] => items.filter(() => chance.next() < 3 / items.length);
  const operation = chance.next() < 0.02 ? 'FutureOperation' : one(Object.keys(OPERATIONS));
  const pairs = words.preferred.filter(({ otherUser }) => operation === 'ImpersonateUser' && otherUser !== 'stranger');
  const likely = pairs.length > 0 ? pairs : words.preferred;
  const preferred = likely.length > 0 && chance.next() < 0.75 ? one(likely) : null;
  const user = preferred?.user ?? one(words.users);
  const otherUser =
    preferred !== null && (pairs.length > 0 || chance.next() < 0.5) ? preferred.otherUser : one(words.users);
  const node = preferred?.node ?? {
    catalog: one(words.catalogs),
    schema: one(words.schemas),
    table: one(words.tables),
  };
  const [catalogName, schemaName] = [node.catalog, node.schema];
  const tableAt = (tableName: string): TableName => ({ catalogName, schemaName, tableName });
  const table = tableAt(chance.next() < 0.8 ? node.table : one(words.tables));
  const user_ = (name: string): Resource => ({ user: { user: name, groups: [] } });
  const column = (columnName: string): Resource => ({ column: { ...table, columnName, columnType: one(TYPES) } });

  const draw = chance.next();
  if (draw < 0.08)
    return { entryPoint: 'rowFilters', user, action: { operation: 'GetRowFilters', resource: { table } } };
  if (draw < 0.13) {
    const resource = column(preferred?.column ?? one(words.columns));
    return { entryPoint: 'columnMask', user, action: { operation: 'GetColumnMask', resource } };
  }
  if (draw < 0.17) {
    const filterResources = words.columns.map(column);
    return { entryPoint: 'batchColumnMasks', user, action: { operation: 'GetColumnMask', filterResources } };
  }
  const resourceOf = (named: TableName, names: { catalog: string; schema: string; user: string }): Resource => {
    switch (OPERATIONS[operation]?.asks) {
      case 'executing':
      case 'engine':
        return {};
      case 'queries':
      case 'impersonation':
        return user_(names.user);
      case 'system-property':
        return { systemSessionProperty: { name: one(words.properties) } };
      case 'catalog-property':
        return { catalogSessionProperty: { catalogName, propertyName: one(words.properties) } };
      case 'catalog':
        return { catalog: { name: names.catalog } };
      case 'schema':
      case 'schema-owner': {
        const schema = { catalogName, schemaName: names.schema };
        return { schema: operation === 'CreateSchema' ? { ...schema, properties: one(PROPERTIES) } : schema };
      }
      case 'columns':
        return { table: { ...named, columns: some(words.columns) } };
      case 'routine':
        return { function: { catalogName, schemaName: names.schema, functionName: named.tableName } };
      case 'table-procedure':
        return { table: named, function: { functionName: one(PROCEDURES) } };
      case 'table':
        return { table: /Create|Properties/.test(operation) ? { ...named, properties: one(PROPERTIES) } : named };
      case 'nobody':
      case undefined:
        return { table: named, catalog: { name: names.catalog } };
    }
  };
  const own = { catalog: catalogName, schema: schemaName, user: otherUser };
  if (!operation.startsWith('Filter') || chance.next() < 0.2) {
    const bare = resourceOf(table, own);
    const resource = Object.keys(bare).length > 0 ? { resource: bare } : {};
    const target = OPERATIONS[operation]?.target;
    const targetResource = target
      ? resourceOf(tableAt(one(words.tables)), { ...own, schema: one(words.schemas) })
      : null;
    return { entryPoint: 'allow', user, action: { operation, ...resource, ...(targetResource && { targetResource }) } };
  }
  if (operation === 'FilterColumns') {
    const filterResources = [{ table: { ...table, columns: [...words.columns] } }];
    return { entryPoint: 'batch', user, action: { operation, filterResources } };
  }
  const asks = OPERATIONS[operation]?.asks;
  const filterResources =
    asks === 'catalog'
      ? words.catalogs.map((catalog) => resourceOf(table, { ...own, catalog }))
      : asks === 'schema'
        ? words.schemas.map((schema) => resourceOf(table, { ...own, schema }))
        : asks === 'queries'
          ? words.users.map((name) => resourceOf(table, { ...own, user: name }))
          : words.tables.map((name) => resourceOf(tableAt(name), own));
  return { entryPoint: 'batch', user, action: { operation, filterResources } };
}
