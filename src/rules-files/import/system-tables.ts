import { resourceNameProblem } from '../../kernel/name.js';
import type { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { KILL_QUERY, nodeOf, SYSTEM } from '../../trino-rules/model/node.js';
import { PRIVILEGE_TERMS } from '../../trino-rules/model/privilege.js';
import { OPEN_SYSTEM_SCHEMAS, SYSTEM_SCHEMAS } from '../../trino-rules/model/resource.js';
import type { NodeOutcome, OutcomeReader } from './node-outcome.js';
import type { UserAccess } from './user-access.js';

type Grants = UserAccess['grants'];

/** SELECT on the catalog `system`, on those of its schemas that a user reads whole, and on tables of the others. */
export function systemTables(
  reader: OutcomeReader,
  user: string,
  { tables, schemaNames, fresh }: Pick<EngineSets, 'tables' | 'fresh'> & { schemaNames: Iterable<string> },
): Grants {
  const reads = ({ privileges, filters, hidden, masks }: NodeOutcome): boolean =>
    privileges.has('SELECT') && filters.size + hidden.size + masks.size === 0;
  const readsWhole = (schema: string): boolean =>
    reads(reader.unnamed(user, { catalog: SYSTEM, schema, table: fresh }, 'schema')) &&
    [...tables.branch([SYSTEM, schema]).names()].every((table) =>
      reads(reader.table(user, { catalog: SYSTEM, schema, table })),
    );
  const readsUnnamed = reads(reader.unnamed(user, { catalog: SYSTEM, schema: fresh, table: fresh }, 'catalog'));
  if (readsUnnamed && [...SYSTEM_SCHEMAS, ...schemaNames].every(readsWhole)) return [selectFrom()];
  return SYSTEM_SCHEMAS.flatMap((schema) => {
    if (readsWhole(schema)) return [selectFrom(schema)];
    // A deny on the schema, of what everybody reads there, would take its tables, too.
    if (OPEN_SYSTEM_SCHEMAS.includes(schema)) return [];
    return [...tables.branch([SYSTEM, schema]).names()]
      .filter(
        (table) => resourceNameProblem(table) === null && reads(reader.table(user, { catalog: SYSTEM, schema, table })),
      )
      .map((table) => selectFrom(schema, table));
  });
}

/** What of `CALL system.runtime.kill_query` is to be granted and denied beside the right to kill, which brings it. */
export function killingBeside(calls: boolean, kills: boolean): Pick<UserAccess, 'grants' | 'denies'> {
  return { grants: calls && !kills ? [CALL_KILLING] : [], denies: kills && !calls ? [CALL_KILLING] : [] };
}

export const CALL_KILLING: Grants[number] = { resource: KILL_QUERY, privileges: ['CALL_PROCEDURE'] };

/**
 * What of `system` is to be granted and denied beside other grants, so that no more is read there than by the rules.
 * @param given what the rules give there
 * @param others all other grants of the user
 */
export function systemBeside(given: Grants, others: Grants): Pick<UserAccess, 'grants' | 'denies'> {
  const reaches = isUsedByStatements(others);
  const isWhole = given.some(({ resource }) => resource.schema === undefined);
  if (isWhole || !(reaches || given.length > 0)) return { grants: given, denies: [] };
  const read = given.flatMap(({ resource }) => (resource.table === undefined ? [resource.schema] : []));
  const unread = OPEN_SYSTEM_SCHEMAS.filter((schema) => !read.includes(schema));
  const denies = given.length === 0 ? [selectFrom()] : unread.map((schema) => selectFrom(schema));
  // What comes with other access is granted to those alone who have none.
  const isGranted = ({ resource }: Grants[number]): boolean =>
    !reaches || !OPEN_SYSTEM_SCHEMAS.includes(resource.schema ?? '');
  return { grants: given.filter(isGranted), denies };
}

/** Whether queries are executed by some of these: they come with them. */
export function isUsedByStatements(grants: Grants): boolean {
  return grants.some(({ privileges }) => privileges.some((each) => PRIVILEGE_TERMS[each].usedByStatements));
}

function selectFrom(schema?: string, table?: string): Grants[number] {
  return { resource: nodeOf({ catalog: SYSTEM, schema, table }), privileges: ['SELECT'] };
}
