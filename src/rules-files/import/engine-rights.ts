import { SYSTEM_INFORMATION_RIGHTS } from '../../trino-rules/document/rules-document.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import type { UserAccess } from './user-access.js';
import type { QueryPrivilege } from './user-queries.js';

/** Over the engine itself. @param queries what the user may do with own queries, and with those of all */
export function rightsOnEngine(
  evaluator: Evaluator,
  user: string,
  queries: readonly (QueryPrivilege | 'EXECUTE_QUERIES')[],
): UserAccess['grants'] {
  const [reads, writes] = SYSTEM_INFORMATION_RIGHTS.map((right) => evaluator.mayWithSystemInformation(user, right));
  const had: Privilege[] = [
    ...queries,
    ...(reads ? (['READ_SYSTEM_INFORMATION'] as const) : []),
    ...(writes ? (['WRITE_SYSTEM_INFORMATION'] as const) : []),
  ];
  return had.length === 0 ? [] : [{ resource: { engine: true }, privileges: had }];
}
