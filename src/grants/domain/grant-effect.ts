import { AccessIndex } from '../../trino-rules/answers/access-index.js';
import { explain } from '../../trino-rules/answers/explanation.js';
import { decide } from '../../trino-rules/model/decision.js';
import { nodeText } from '../../trino-rules/model/node.js';
import { orderedPrivileges, PRIVILEGE_TERMS, type Privilege } from '../../trino-rules/model/privilege.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { NewGrant } from './grant.js';

/** Whether a restriction can take a privilege without denying it. */
export function canYield(privilege: Privilege): boolean {
  const { yieldsToRestrictions, yieldsToFilters, yieldsToMasks } = PRIVILEGE_TERMS[privilege];
  return yieldsToRestrictions || yieldsToFilters || yieldsToMasks;
}

/**
 * Sentences on privileges of a grant that have no effect, because a row filter, a mask, a hidden column or a deny takes them from the
 * principal at its node. None for a grant to everyone, which restrictions take from some.
 * @param snapshot with the grant in it
 */
export function privilegesWithoutEffect(snapshot: Snapshot, { principal, resource, privileges }: NewGrant): string[] {
  const index = new AccessIndex(snapshot);
  if (principal.type === 'everyone') return [];
  const lost = new Map<string, Privilege[]>();
  for (const privilege of privileges.filter(canYield)) {
    const question = PRIVILEGE_TERMS[privilege].asks(index.principals.namedNode(resource));
    if (decide(snapshot, principal, question, index.principals).allowed) continue;
    const policies = explain(index, principal, question).policies.map(({ id }) => id);
    if (policies.length === 0) continue;
    const by = `${policies.length > 1 ? 'policies' : 'policy'} ${policies.join(', ')}`;
    lost.set(by, [...(lost.get(by) ?? []), privilege]);
  }
  return [...lost].map(
    ([by, some]) =>
      `${orderedPrivileges(some).join(', ')} on ${nodeText(resource) || 'everything'} has no effect: ${by} would not hold for it`,
  );
}
