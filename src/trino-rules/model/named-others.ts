import { covers, type Node } from './node.js';
import { type PolicyPrincipal, type Principal, principalText } from './principal.js';
import type { Member, Principals } from './principals.js';
import { getOrInsert } from '../../kernel/collections.js';
import { isLive, type Snapshot, type SnapshotGrant, type SnapshotPolicy } from './snapshot.js';

/** As `covers`; a node about impersonating a group or everyone, or about their queries, also covers the nodes of each member. */
export function coversIn(principals: Principals, wide: Node, node: Node): boolean {
  if (wide.queries !== undefined && node.queries !== undefined)
    return areOwnersOf(principals, wide.queries, node.queries);
  if (wide.as === undefined || node.as === undefined || isSingle(wide.as)) return covers(wide, node);
  return wide.as.type === 'everyone' || covers(wide, node) || principals.members(wide.as).has(principalText(node.as));
}

/** Whether the owners `wide` include `named`. Everyone does not include an engine principal that no grant or group makes known. */
function areOwnersOf(principals: Principals, wide: PolicyPrincipal, named: PolicyPrincipal): boolean {
  if (isSingle(named)) return principals.owners(wide).has(principalText(named));
  return wide.type === 'everyone' || principalText(wide) === principalText(named);
}

function isSingle({ type }: PolicyPrincipal): boolean {
  return type === 'user' || type === 'engine';
}

/**
 * Nodes of single members of a denied group to whom a grant applies by another node: the deny takes effect there, but neither node
 * shows it. For queries, denies are compared with each other as well, because each can take another right.
 */
export function deniedMembers(principals: Principals, given: readonly Node[], denied: readonly Node[]): Node[] {
  return denied.flatMap((deny) => {
    const others = deny.queries === undefined ? given : [...given, ...denied];
    const apart = others.filter((node) => !coversIn(principals, deny, node) && !coversIn(principals, node, deny));
    return apart.length === 0
      ? []
      : membersAt(principals, deny).filter((member) => apart.some((node) => coversIn(principals, node, member)));
  });
}

function membersAt(principals: Principals, { as, queries }: Node): Node[] {
  if (queries !== undefined)
    return [...principals.owners(queries).values()].map((owner) => ({ queries: unnamed(owner) }));
  return as === undefined ? [] : [...principals.members(as).values()].map((member) => ({ as: unnamed(member) }));
}

function unnamed(member: Member): Principal {
  return member.type === 'user' ? { type: 'user', id: member.id } : member;
}

/** The account with this name, else the engine principal. */
export function principalNamed(principals: Principals, name: string): Principal {
  return principals.userNamed(name) ?? { type: 'engine', name };
}

/** The engine reads `new_user` as a replacement text before it is a pattern: `$` throws there and a backslash is dropped (seen on 483). */
export function canBeImpersonated(name: string): boolean {
  return !/[$\\^[\]]/.test(name);
}

/**
 * Whether a principal can be impersonated: an active account or a known engine principal, with or without access. Never one that
 * impersonates others: the engine follows chains (seen on 483).
 */
export function canBeActedAs(principals: Principals, principal: PolicyPrincipal): boolean {
  const member = principals.members({ type: 'everyone' }).get(principalText(principal));
  return member !== undefined && !holdsActing(principals, principal) && canBeImpersonated(member.name);
}

/** Whether a principal has any live grant of IMPERSONATE, even a denied one: a deny must not make the principal a target. */
export function holdsActing(principals: Principals, principal: PolicyPrincipal): boolean {
  return principal.type === 'engine' && principals.actors.has(principal.name);
}

/** Members of `as` that can be impersonated. */
export function actingTargets(principals: Principals, as: PolicyPrincipal): Member[] {
  return [...principals.members(as).values()].filter((member) => canBeActedAs(principals, member));
}

/** Names of the principals that each engine principal may impersonate: all pairs at once, each as `decide` answers it. */
export function actingPairs({ grants, policies, at }: Snapshot, principals: Principals): Map<string, Set<string>> {
  const pairs = new Map<string, Set<string>>();
  const targets = ({ resource: { as } }: SnapshotGrant | SnapshotPolicy): Member[] =>
    as === undefined ? [] : actingTargets(principals, as);
  for (const grant of grants) {
    const { principal, resource } = grant;
    if (resource.as === undefined || principal.type !== 'engine' || !isLive(grant, at)) continue;
    if (!holdsActing(principals, principal)) continue;
    const names = getOrInsert(pairs, principal.name, () => new Set<string>());
    for (const { name } of targets(grant)) names.add(name);
  }
  for (const policy of policies)
    for (const [name, names] of policy.kind === 'deny' ? pairs : [])
      if (principals.throughPolicy(policy, { type: 'engine', name }) !== null)
        for (const target of targets(policy)) names.delete(target.name);
  return pairs;
}
