import { coversIn } from '../model/named-others.js';
import { decide, gives } from '../model/decision.js';
import { grantedOnEngine } from '../model/rights.js';
import { depth, kindOf, type Node, nodeKey } from '../model/node.js';
import { type NamedPolicyPrincipal, type PolicyPrincipal, type Principal, principalText } from '../model/principal.js';
import { isServiceAccount, type Principals } from '../model/principals.js';
import { withContained } from '../model/privilege.js';
import { isAtNode, type Question } from '../model/question.js';
import type { SnapshotGrant } from '../model/snapshot.js';
import type { AccessIndex } from './access-index.js';
import { explain } from './explanation.js';
import { grantFor } from './smallest-change.js';

/** A path from principal over group and grant to node. */
export interface Way {
  group: { id: number; name: string } | null;
  isForEveryone: boolean;
  /** Null: the grant is missing. */
  grant: number | null;
  /** The node of the grant, or of a missing one. */
  node: Node;
  /** Where the path is broken; null: it gives the asked right. */
  endsAt: WayEnd | null;
}

export type WayEnd =
  | { kind: 'inactive' | 'not_a_member' | 'no_grant' }
  | { kind: 'expired'; at: Date }
  | { kind: 'denied'; policies: number[] };

/** A grant that is not revoked but may have expired. */
export type GrantOnPath = Omit<SnapshotGrant, 'principal' | 'revokedAt'> & { principal: NamedPolicyPrincipal };

const KINDS: readonly WayEnd['kind'][] = ['denied', 'expired', 'inactive', 'no_grant', 'not_a_member'];

/** The node at or above which a grant gives the asked right; null: no grant can give it. */
export function grantedNode(index: AccessIndex, question: Question): Node | null {
  return grantFor(question, index.principals)?.resource ?? null;
}

/**
 * All paths by which a principal has the asked right or, if it lacks it, could have it: the shortest first, from the nearest node.
 * @param onPath grants at the node or above, to the principal itself, to any group and to everyone
 */
export function waysTo(
  index: AccessIndex,
  principal: Principal,
  question: Question,
  onPath: readonly GrantOnPath[],
): Way[] {
  const node = grantedNode(index, question);
  if (node === null || isServiceAccount(index.snapshot, principal)) return [];
  const narrowed = isAtNode(question) || grantedOnEngine(question, index.principals) !== null;
  const snapshot = narrowed ? index.of(principal) : index.snapshot;
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

  const own = new Map(index.groupsWith(principal).map((group) => [group.id, group]));
  const reaches = (named: PolicyPrincipal): boolean =>
    named.type === 'group' && principal.type !== 'group'
      ? own.has(named.id)
      : named.type === 'everyone'
        ? isInactive || index.principals.through(named, principal) !== null
        : principalText(named) === principalText(principal);
  const known = new Set(ways.map(({ grant }) => grant));
  const seen = new Set(ways.map(placeOf));
  for (const grant of [...onPath].sort(latestFirst)) {
    const { id, principal: named, resource, expiresAt } = grant;
    if (known.has(id) || !coversIn(index.principals, resource, node) || !carries(grant, question, index.principals))
      continue;
    const isExpired = expiresAt !== null && expiresAt <= snapshot.at;
    const isReached = reaches(named);
    if (!isReached && (isExpired || principal.type === 'group')) continue;
    const way: Way = {
      group: named.type === 'group' && principal.type !== 'group' ? { id: named.id, name: named.name } : null,
      isForEveryone: named.type === 'everyone',
      grant: id,
      node: resource,
      endsAt: isInactive && isReached ? { kind: 'inactive' } : endOf(isReached, expiresAt),
    };
    // Only the last of successive grants at one place is listed.
    if (seen.has(placeOf(way))) continue;
    seen.add(placeOf(way));
    ways.push(way);
  }
  const missing: Way = { group: null, isForEveryone: false, grant: null, node, endsAt: { kind: 'no_grant' } };
  // A right that comes with other access can only be missing because of a deny.
  const isTaken = intent.standing === 'reaches-something' && policies.length > 0;
  if (!ways.some(({ group, isForEveryone }) => group === null && !isForEveryone))
    ways.push(isTaken ? { ...missing, endsAt: { kind: 'denied', policies } } : missing);
  const through = new Set(ways.map(({ group }) => group?.id));
  const others = principal.type === 'group' ? [] : [...own.values()].filter(({ id }) => !through.has(id));
  for (const { id, name } of others) ways.push({ ...missing, group: { id, name } });
  return ways.sort(byLength);
}

function endOf(isReached: boolean, expiresAt: Date | null): WayEnd {
  if (!isReached) return { kind: 'not_a_member' };
  // A live grant gives nothing if the right cannot be held at the node.
  return expiresAt === null ? { kind: 'no_grant' } : { kind: 'expired', at: expiresAt };
}

function carries({ privileges }: GrantOnPath, question: Question, principals: Principals): boolean {
  if (grantedOnEngine(question, principals) === null && isAtNode(question)) return gives(privileges, question);
  const held = withContained(privileges);
  return grantFor(question, principals)?.privileges.some((privilege) => held.has(privilege)) === true;
}

function placeOf({ group, isForEveryone, node }: Way): string {
  return JSON.stringify([group?.id, isForEveryone, kindOf(node), nodeKey(node)]);
}

function latestFirst(a: GrantOnPath, b: GrantOnPath): number {
  const until = ({ expiresAt }: GrantOnPath): number => expiresAt?.getTime() ?? Infinity;
  return until(a) === until(b) ? a.id - b.id : until(b) - until(a);
}

function byLength(a: Way, b: Way): number {
  const stations = ({ group, isForEveryone }: Way): number => (group !== null ? 2 : isForEveryone ? 1 : 0);
  const end = ({ endsAt }: Way): number => (endsAt === null ? -1 : KINDS.indexOf(endsAt.kind));
  return (
    stations(a) - stations(b) || end(a) - end(b) || depth(b.node) - depth(a.node) || (a.grant ?? 0) - (b.grant ?? 0)
  );
}
