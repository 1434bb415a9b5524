import { coversMembers } from '../model/named-others.js';
import { decide, grantGivesRight } from '../model/decision.js';
import { grantableRightOf } from '../model/rights.js';
import { depth, kindOf, type Node, nodeKey } from '../model/node.js';
import { type NamedPolicyPrincipal, type PolicyPrincipal, type Principal, principalText } from '../model/principal.js';
import { isServiceAccount, type Principals } from '../model/principals.js';
import { holderProblem, privilegesGivenBy } from '../model/privilege.js';
import { isNodeQuestion, type Question } from '../model/question.js';
import type { SnapshotGrant } from '../model/snapshot.js';
import type { AccessIndex } from './access-index.js';
import { explain } from './explanation.js';
import { neededGrant } from './smallest-change.js';

/** A way in which a principal has or could have access: directly, as a member of everyone or through a group, by a grant on a node. */
export interface Way {
  group: { id: number; name: string } | null;
  isForEveryone: boolean;
  /** The id of the grant; null: the grant is missing. */
  grant: number | null;
  /** The node of the grant, or the node where a grant is missing. */
  node: Node;
  /** Why this way does not give the right in question; null: this way gives the right. */
  endsAt: WayEnd | null;
}

export type WayEnd =
  | { kind: 'inactive' | 'not_a_member' | 'no_grant' }
  | { kind: 'expired'; at: Date }
  | { kind: 'denied'; policies: number[] };

/** A grant on the node in question or above it, not revoked but perhaps expired. */
export type GrantOnPath = Omit<SnapshotGrant, 'principal' | 'revokedAt'> & { principal: NamedPolicyPrincipal };

const END_KINDS: readonly WayEnd['kind'][] = ['denied', 'expired', 'inactive', 'no_grant', 'not_a_member'];

/**
 * All ways in which a principal has or could get the right in question. Direct ways come first, ways through a group last.
 * @param grantsOnPath grants at the node or above to the principal itself, to any group and to everyone
 */
export function waysTo(
  index: AccessIndex,
  principal: Principal,
  question: Question,
  grantsOnPath: readonly GrantOnPath[],
): Way[] {
  const needed = neededGrant(question, index.principals);
  if (needed === null || isServiceAccount(index.snapshot, principal)) return [];
  const canHold = (holder: Principal): boolean => holderProblem(needed.privileges, holder) === null;
  if (!canHold(principal)) return [];
  const node = needed.resource;
  const ownEntriesDecide = isNodeQuestion(question) || grantableRightOf(question, index.principals) !== null;
  const snapshot = ownEntriesDecide ? index.snapshotFor(principal) : index.snapshot;
  const { allowed, grants, intent } = decide(snapshot, principal, question, index.principals);
  const isInactive = principal.type === 'user' && index.principals.user(principal.id)?.isActive === false;
  const policies = allowed ? [] : explain(index, principal, question).policies.map(({ id }) => id);
  const ways = grants.map(({ source, through }): Way => ({
    group: typeof through === 'object' ? { id: through.group.id, name: through.group.name } : null,
    isForEveryone: through === 'everyone',
    grant: source.id,
    node: source.resource,
    endsAt: allowed ? null : { kind: 'denied', policies },
  }));
  if (allowed) return ways.sort(byLength);

  const ownGroups = new Map(index.groupsOf(principal).map((group) => [group.id, group]));
  const includesPrincipal = (grantee: PolicyPrincipal): boolean =>
    grantee.type === 'group' && principal.type !== 'group'
      ? ownGroups.has(grantee.id)
      : grantee.type === 'everyone'
        ? isInactive || index.principals.appliesThrough(grantee, principal) !== null
        : principalText(grantee) === principalText(principal);
  const listedGrants = new Set(ways.map(({ grant }) => grant));
  const listedWayKeys = new Set(ways.map(wayKey));
  for (const grant of [...grantsOnPath].sort(byLatestExpiry)) {
    const { id, principal: grantee, resource, expiresAt } = grant;
    if (
      listedGrants.has(id) ||
      !coversMembers(index.principals, resource, node) ||
      !givesRight(grant, question, index.principals)
    )
      continue;
    const isExpired = expiresAt !== null && expiresAt <= snapshot.at;
    const isGrantee = includesPrincipal(grantee);
    if (!isGrantee && (isExpired || principal.type === 'group')) continue;
    const way: Way = {
      group: grantee.type === 'group' && principal.type !== 'group' ? { id: grantee.id, name: grantee.name } : null,
      isForEveryone: grantee.type === 'everyone',
      grant: id,
      node: resource,
      endsAt: isInactive && isGrantee ? { kind: 'inactive' } : wayEnd(isGrantee, isExpired ? expiresAt : null),
    };
    // Several grants can give the same principal access at the same node. The list contains only the grant that expires last.
    if (listedWayKeys.has(wayKey(way))) continue;
    listedWayKeys.add(wayKey(way));
    ways.push(way);
  }
  const wayWithoutGrant: Way = { group: null, isForEveryone: false, grant: null, node, endsAt: { kind: 'no_grant' } };
  // A right from the source `reaches-something` needs no grant, so only a policy can have taken the right away.
  const isDenied = intent.ungrantedSource === 'reaches-something' && policies.length > 0;
  if (!ways.some(({ group, isForEveryone }) => group === null && !isForEveryone))
    ways.push(isDenied ? { ...wayWithoutGrant, endsAt: { kind: 'denied', policies } } : wayWithoutGrant);
  const listedGroupIds = new Set(ways.map(({ group }) => group?.id));
  for (const { id, name } of principal.type === 'group' ? [] : ownGroups.values())
    if (!listedGroupIds.has(id) && canHold({ type: 'group', id }))
      ways.push({ ...wayWithoutGrant, group: { id, name } });
  return ways.sort(byLength);
}

/** @param expiredAt null: the grant is live, and gives nothing here, because the right does not exist at the node */
function wayEnd(isGrantee: boolean, expiredAt: Date | null): WayEnd {
  if (!isGrantee) return { kind: 'not_a_member' };
  return expiredAt === null ? { kind: 'no_grant' } : { kind: 'expired', at: expiredAt };
}

function givesRight({ privileges }: GrantOnPath, question: Question, principals: Principals): boolean {
  if (grantableRightOf(question, principals) === null && isNodeQuestion(question))
    return grantGivesRight(privileges, question);
  const givenPrivileges = privilegesGivenBy(privileges);
  return neededGrant(question, principals)?.privileges.some((privilege) => givenPrivileges.has(privilege)) === true;
}

function wayKey({ group, isForEveryone, node }: Way): string {
  return JSON.stringify([group?.id, isForEveryone, kindOf(node), nodeKey(node)]);
}

function byLatestExpiry(a: GrantOnPath, b: GrantOnPath): number {
  const expiryTime = ({ expiresAt }: GrantOnPath): number => expiresAt?.getTime() ?? Infinity;
  return expiryTime(a) === expiryTime(b) ? a.id - b.id : expiryTime(b) - expiryTime(a);
}

function byLength(a: Way, b: Way): number {
  const stepCount = ({ group, isForEveryone }: Way): number => (group !== null ? 2 : isForEveryone ? 1 : 0);
  const endKindRank = ({ endsAt }: Way): number => (endsAt === null ? -1 : END_KINDS.indexOf(endsAt.kind));
  const lengthOrder = stepCount(a) - stepCount(b) || endKindRank(a) - endKindRank(b);
  return lengthOrder || depth(b.node) - depth(a.node) || (a.grant ?? 0) - (b.grant ?? 0);
}
