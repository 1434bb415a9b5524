import { decide } from './decision.js';
import type { Guarantee, GuaranteeScope } from './guarantee.js';
import { intentAt } from './intent.js';
import { covers, namedBy, type Node, withNamed } from './node.js';
import { type PolicyPrincipal, principalText } from './principal.js';
import { isServiceAccount, type Member, type Principals } from './principals.js';
import { type Privilege, PRIVILEGE_TERMS, withContained } from './privilege.js';
import { isOpenSystem } from './resource.js';
import { basesOf } from './restrictions.js';
import type { Snapshot } from './snapshot.js';

/** Whether a node is within a scope. Companions are part of their table. Everybody reads `jdbc` and `metadata` in `system`, so no scope has them. */
export function scopeIncludes({ resource }: GuaranteeScope, node: Node): boolean {
  const { table } = resource;
  const isCompanion = table !== undefined && table !== node.table && basesOf(node.table ?? '').includes(table);
  return covers(resource, isCompanion ? { ...node, table } : node) && !isOpenSystem(node);
}

/** A person or engine principal that has what it must not have, or lacks what it must have. */
export interface Breach {
  principal: Member;
  resource: Node;
  privilege: Privilege;
}

/** Whether a guarantee is about a principal. @param principals of the snapshot */
export function isCounted(
  snapshot: Snapshot,
  { principal, except }: Guarantee,
  member: Member,
  principals: Principals,
): boolean {
  const text = principalText(member);
  const isIn = (named: PolicyPrincipal): boolean =>
    principals.members(named).has(text) || (named.type === 'engine' && principalText(named) === text);
  return !isServiceAccount(snapshot, member) && isIn(principal) && !except.some(isIn);
}

/**
 * Whether a counted principal breaks a scope by `decide`: what guarantees mean. The judge of documents has the same verdicts from sets
 * of users.
 */
export function isBreach(
  snapshot: Snapshot,
  { kind }: Guarantee,
  { column, isUnfiltered }: GuaranteeScope,
  { principal, resource, privilege }: Breach,
  principals: Principals,
): boolean {
  const isMissing = kind === 'always';
  if (column !== undefined || isUnfiltered) {
    const { privileges, hidden, masks, filters } = intentAt(snapshot, principal, resource, principals);
    const isReal = column === undefined || !(hidden.includes(column) || masks.some((mask) => mask.column === column));
    const isRead = withContained(privileges).has('SELECT') && isReal && !(isUnfiltered && filters.length > 0);
    return isRead !== isMissing;
  }
  const named = namedBy(resource);
  const others = named === undefined ? [''] : [...principals.members(named).values()].map(({ name }) => name);
  // The engine always allows access to own queries and impersonation of oneself.
  return others.some((name) => {
    const question = PRIVILEGE_TERMS[privilege].asks(withNamed(resource, () => ({ type: 'engine', name })));
    return name !== principal.name && decide(snapshot, principal, question, principals).allowed !== isMissing;
  });
}
