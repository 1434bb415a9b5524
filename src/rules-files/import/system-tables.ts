import type { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import { SYSTEM_SCHEMAS } from '../../trino-rules/model/resource.js';
import type { NodeOutcome, OutcomeReader } from './node-outcome.js';
import type { UserAccess } from './user-access.js';

/** SELECT on the catalog `system`, or on those of its schemas that a user reads whole: nothing narrower can be granted there. */
export function systemTables(
  reader: OutcomeReader,
  user: string,
  { tables, schemaNames, fresh }: Pick<EngineSets, 'tables' | 'fresh'> & { schemaNames: Iterable<string> },
): UserAccess['grants'] {
  const reads = ({ privileges, filters, hidden, masks }: NodeOutcome): boolean =>
    privileges.has('SELECT') && filters.size + hidden.size + masks.size === 0;
  const readsWhole = (schema: string): boolean =>
    reads(reader.unnamed(user, { catalog: SYSTEM, schema, table: fresh }, 'schema')) &&
    [...tables.branch([SYSTEM, schema]).names()].every((table) =>
      reads(reader.table(user, { catalog: SYSTEM, schema, table })),
    );
  const readsUnnamed = reads(reader.unnamed(user, { catalog: SYSTEM, schema: fresh, table: fresh }, 'catalog'));
  if (readsUnnamed && [...SYSTEM_SCHEMAS, ...schemaNames].every(readsWhole))
    return [{ resource: { catalog: SYSTEM }, privileges: ['SELECT'] }];
  return SYSTEM_SCHEMAS.filter(readsWhole).map((schema) => ({
    resource: { catalog: SYSTEM, schema },
    privileges: ['SELECT'],
  }));
}
