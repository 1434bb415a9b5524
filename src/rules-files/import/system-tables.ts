import { resourceNameProblem } from '../../kernel/name.js';
import type { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { KILL_QUERY, type Level, nodeOf, SYSTEM } from '../../trino-rules/model/node.js';
import { PRIVILEGE_TERMS } from '../../trino-rules/model/privilege.js';
import { OPEN_SYSTEM_SCHEMAS, SYSTEM_SCHEMAS } from '../../trino-rules/model/resource.js';
import { isReadingRestricted, type NodeAccessReader, type UserAccess } from './node-access.js';

type Grants = UserAccess['grants'];
type SystemRights = Pick<UserAccess, 'grants' | 'denies'>;

/** The tables of the catalog `system` by schema, from Trino's sources. */
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

/** A user's SELECT grants in `system`: on the catalog, on schemas (with denies for some tables), and on single tables of other schemas. */
export function systemTableRights(
  reader: NodeAccessReader,
  user: string,
  { tables, schemaNames, freshName }: Pick<EngineSets, 'tables' | 'freshName'> & { schemaNames: Iterable<string> },
): SystemRights {
  const mayReadUnnamed = (schema: string, namedLevel: Level): boolean =>
    !isReadingRestricted(reader.unnamedAccess(user, { catalog: SYSTEM, schema, table: freshName }, namedLevel));
  const tablesOf = (schema: string, isReadable: boolean): string[] =>
    [...tables.branch([SYSTEM, schema]).names()].filter(
      (table) => isReadingRestricted(reader.tableAccess(user, { catalog: SYSTEM, schema, table })) !== isReadable,
    );
  const canBeNamed = (schema: string, table: string): boolean =>
    SYSTEM_SCHEMAS.includes(schema) && resourceNameProblem(table) === null;
  const canGrantSchema = (schema: string): boolean =>
    mayReadUnnamed(schema, 'schema') && tablesOf(schema, false).every((table) => canBeNamed(schema, table));
  const mayReadAll = mayReadUnnamed(freshName, 'catalog') && [...SYSTEM_SCHEMAS, ...schemaNames].every(canGrantSchema);
  const schemaRights = SYSTEM_SCHEMAS.map((schema): SystemRights => {
    const selectGrants = (isReadable: boolean): Grants =>
      tablesOf(schema, isReadable)
        .filter((table) => canBeNamed(schema, table))
        .map((table) => grantToRead(schema, table));
    if (canGrantSchema(schema)) return { grants: mayReadAll ? [] : [grantToRead(schema)], denies: selectGrants(false) };
    // Single tables of OPEN_SYSTEM_SCHEMAS get no grant, because `adjustSystemAccess` denies such a schema as a whole.
    return { grants: OPEN_SYSTEM_SCHEMAS.includes(schema) ? [] : selectGrants(true), denies: [] };
  });
  return {
    grants: [...(mayReadAll ? [grantToRead()] : []), ...schemaRights.flatMap(({ grants }) => grants)],
    denies: schemaRights.flatMap(({ denies }) => denies),
  };
}

export function mayCallKillQuery(evaluator: Evaluator, user: string): boolean {
  return evaluator.allows(user, PRIVILEGE_TERMS.CALL_PROCEDURE.questionAt(KILL_QUERY));
}

/** Grants `CALL system.runtime.kill_query` to a user without KILL_QUERIES, or denies it if only KILL_QUERIES would give it. */
export function adjustKillQuery(mayCall: boolean, mayKill: boolean): SystemRights {
  return { grants: mayCall && !mayKill ? [CALL_KILL_QUERY] : [], denies: mayKill && !mayCall ? [CALL_KILL_QUERY] : [] };
}

export const CALL_KILL_QUERY: Grants[number] = { resource: KILL_QUERY, privileges: ['CALL_PROCEDURE'] };

/**
 * Any grant that statements use also opens the `system` schemas `jdbc` and `metadata`. Then a grant on these is not needed, but a denial may be.
 * @param systemRights access by the rules
 * @param otherGrants all other grants of the user
 */
export function adjustSystemAccess(systemRights: SystemRights, otherGrants: Grants): SystemRights {
  const { grants } = systemRights;
  const hasStatementGrant = isUsedByStatements(otherGrants);
  const isCatalogGranted = grants.some(({ resource }) => resource.schema === undefined);
  if (isCatalogGranted || !(hasStatementGrant || grants.length > 0)) return systemRights;
  const grantedSchemas = grants.flatMap(({ resource }) => (resource.table === undefined ? [resource.schema] : []));
  const ungrantedSchemas = OPEN_SYSTEM_SCHEMAS.filter((schema) => !grantedSchemas.includes(schema));
  const denies = grants.length === 0 ? [grantToRead()] : ungrantedSchemas.map((schema) => grantToRead(schema));
  const isGrantNeeded = ({ resource }: Grants[number]): boolean =>
    !hasStatementGrant || !OPEN_SYSTEM_SCHEMAS.includes(resource.schema ?? '');
  return { grants: grants.filter(isGrantNeeded), denies: [...denies, ...systemRights.denies] };
}

/** Whether a statement uses a privilege of these grants, so that their holders execute queries without EXECUTE_QUERIES. */
export function isUsedByStatements(grants: Grants): boolean {
  return grants.some(({ privileges }) => privileges.some((each) => PRIVILEGE_TERMS[each].isUsedByStatements));
}

function grantToRead(schema?: string, table?: string): Grants[number] {
  return { resource: nodeOf({ catalog: SYSTEM, schema, table }), privileges: ['SELECT'] };
}
