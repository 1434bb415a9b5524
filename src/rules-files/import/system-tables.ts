import { resourceNameProblem } from '../../kernel/name.js';
import type { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { KILL_QUERY, type Level, nodeOf, SYSTEM } from '../../trino-rules/model/node.js';
import { PRIVILEGE_TERMS } from '../../trino-rules/model/privilege.js';
import { OPEN_SYSTEM_SCHEMAS, SYSTEM_SCHEMAS } from '../../trino-rules/model/resource.js';
import { isReadingRestricted, type OutcomeReader, type UserAccess } from './node-outcome.js';

type Grants = UserAccess['grants'];
type InSystem = Pick<UserAccess, 'grants' | 'denies'>;

/** Tables by schema, from Trino's sources. */
const SYSTEM_TABLES: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'jdbc',
    [
      ...['attributes', 'catalogs', 'columns', 'procedure_columns', 'procedures', 'pseudo_columns', 'schemas'],
      ...['primary_keys', 'super_tables', 'super_types', 'table_types', 'tables', 'types', 'udts'],
    ],
  ],
  [
    'metadata',
    [
      ...['analyze_properties', 'catalogs', 'column_properties', 'materialized_view_properties'],
      ...['materialized_views', 'schema_comments', 'schema_properties', 'table_comments', 'table_properties'],
    ],
  ],
  ['runtime', ['nodes', 'optimizer_rule_stats', 'queries', 'tasks', 'transactions']],
]);

export function tablesOfSystem(schema: string | undefined): readonly string[] {
  return SYSTEM_TABLES.get(schema ?? '') ?? [];
}

/** SELECT on the catalog `system`, on schemas that a user reads except for some tables, and on tables of other schemas. */
export function systemTables(
  reader: OutcomeReader,
  user: string,
  { tables, schemaNames, fresh }: Pick<EngineSets, 'tables' | 'fresh'> & { schemaNames: Iterable<string> },
): InSystem {
  const readsUnnamed = (schema: string, named: Level): boolean =>
    !isReadingRestricted(reader.unnamedOutcome(user, { catalog: SYSTEM, schema, table: fresh }, named));
  const tablesOf = (schema: string, isRead: boolean): string[] =>
    [...tables.branch([SYSTEM, schema]).names()].filter(
      (table) => isReadingRestricted(reader.tableOutcome(user, { catalog: SYSTEM, schema, table })) !== isRead,
    );
  const isNamed = (schema: string, table: string): boolean =>
    SYSTEM_SCHEMAS.includes(schema) && resourceNameProblem(table) === null;
  const readsBut = (schema: string): boolean =>
    readsUnnamed(schema, 'schema') && tablesOf(schema, false).every((table) => isNamed(schema, table));
  const isWhole = readsUnnamed(fresh, 'catalog') && [...SYSTEM_SCHEMAS, ...schemaNames].every(readsBut);
  const inSchemas = SYSTEM_SCHEMAS.map((schema): InSystem => {
    const from = (isRead: boolean): Grants =>
      tablesOf(schema, isRead)
        .filter((table) => isNamed(schema, table))
        .map((table) => selectFrom(schema, table));
    if (readsBut(schema)) return { grants: isWhole ? [] : [selectFrom(schema)], denies: from(false) };
    // `adjustSystemAccess` denies an open schema as a whole, including its tables.
    return { grants: OPEN_SYSTEM_SCHEMAS.includes(schema) ? [] : from(true), denies: [] };
  });
  return {
    grants: [...(isWhole ? [selectFrom()] : []), ...inSchemas.flatMap(({ grants }) => grants)],
    denies: inSchemas.flatMap(({ denies }) => denies),
  };
}

/** `CALL system.runtime.kill_query` */
export function mayCallKillQuery(evaluator: Evaluator, user: string): boolean {
  return evaluator.allows(user, PRIVILEGE_TERMS.CALL_PROCEDURE.asks(KILL_QUERY));
}

/** The grant or deny of `CALL system.runtime.kill_query` that is needed besides the right to kill, which includes the call. */
export function adjustKillQuery(calls: boolean, kills: boolean): InSystem {
  return { grants: calls && !kills ? [CALL_KILL_QUERY] : [], denies: kills && !calls ? [CALL_KILL_QUERY] : [] };
}

export const CALL_KILL_QUERY: Grants[number] = { resource: KILL_QUERY, privileges: ['CALL_PROCEDURE'] };

/**
 * Adapts grants and denies in `system` to the user's other grants, which open schemas there, so that the user reads only what rules give.
 * @param given access by the rules
 * @param others all other grants of the user
 */
export function adjustSystemAccess(given: InSystem, others: Grants): InSystem {
  const { grants } = given;
  const reaches = isUsedByStatements(others);
  const isWhole = grants.some(({ resource }) => resource.schema === undefined);
  if (isWhole || !(reaches || grants.length > 0)) return given;
  const read = grants.flatMap(({ resource }) => (resource.table === undefined ? [resource.schema] : []));
  const unread = OPEN_SYSTEM_SCHEMAS.filter((schema) => !read.includes(schema));
  const denies = grants.length === 0 ? [selectFrom()] : unread.map((schema) => selectFrom(schema));
  // Any other access includes reading the open schemas.
  const isGranted = ({ resource }: Grants[number]): boolean =>
    !reaches || !OPEN_SYSTEM_SCHEMAS.includes(resource.schema ?? '');
  return { grants: grants.filter(isGranted), denies: [...denies, ...given.denies] };
}

/** Whether one of these grants includes EXECUTE_QUERIES. */
export function isUsedByStatements(grants: Grants): boolean {
  return grants.some(({ privileges }) => privileges.some((each) => PRIVILEGE_TERMS[each].usedByStatements));
}

function selectFrom(schema?: string, table?: string): Grants[number] {
  return { resource: nodeOf({ catalog: SYSTEM, schema, table }), privileges: ['SELECT'] };
}
