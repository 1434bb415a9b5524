import type { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { OPEN_SYSTEM_SCHEMAS } from '../../trino-rules/model/intent.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import { PRIVILEGE_TERMS } from '../../trino-rules/model/privilege.js';
import { SYSTEM_SCHEMAS } from '../../trino-rules/model/resource.js';
import type { NodeOutcome, OutcomeReader } from './node-outcome.js';
import type { UserAccess } from './user-access.js';

type Grants = UserAccess['grants'];

/** SELECT on the catalog `system`, or on those of its schemas that a user reads whole: nothing narrower can be granted there. */
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
  return SYSTEM_SCHEMAS.filter(readsWhole).map(selectFrom);
}

/**
 * What of `system` is to be granted and denied beside other grants, so that no more is read there than by the rules.
 * @param given what the rules give there
 * @param others all other grants of the user
 */
export function systemBeside(given: Grants, others: Grants): Pick<UserAccess, 'grants' | 'denies'> {
  const reaches = others.some(({ privileges }) => privileges.some((each) => PRIVILEGE_TERMS[each].usedByStatements));
  const isWhole = given.some(({ resource }) => resource.schema === undefined);
  if (isWhole || !(reaches || given.length > 0)) return { grants: given, denies: [] };
  const read = given.map(({ resource }) => resource.schema);
  const unread = OPEN_SYSTEM_SCHEMAS.filter((schema) => !read.includes(schema));
  const denies = read.length === 0 ? [selectFrom()] : unread.map(selectFrom);
  // What comes with other access is granted to those alone who have none.
  const isGranted = ({ resource }: Grants[number]): boolean =>
    !reaches || !OPEN_SYSTEM_SCHEMAS.includes(resource.schema ?? '');
  return { grants: given.filter(isGranted), denies };
}

function selectFrom(schema?: string): Grants[number] {
  return { resource: { catalog: SYSTEM, ...(schema !== undefined && { schema }) }, privileges: ['SELECT'] };
}
