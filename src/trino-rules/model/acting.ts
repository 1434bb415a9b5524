import { getOrInsert } from '../../kernel/collections.js';
import { type PolicyPrincipal, principalText } from './principal.js';
import type { Member, Principals } from './principals.js';
import { isLive, type Snapshot, type SnapshotGrant, type SnapshotPolicy } from './snapshot.js';

/** The engine reads `new_user` as a replacement text before it is a pattern: `$` throws there and a backslash is eaten (seen on 483). */
export function canBeImpersonated(name: string): boolean {
  return !/[$\\^[\]]/.test(name);
}

/**
 * Whether anybody can be given acting as this principal: active accounts and known engine principals, whether they reach something
 * or not. Never one that acts as others: the engine follows chains, so that whoever became it would have its viewers, too (seen on 483).
 */
export function canBeActedAs(principals: Principals, principal: PolicyPrincipal): boolean {
  const member = principals.members({ type: 'everyone' }).get(principalText(principal));
  return member !== undefined && !holdsActing(principals, principal) && canBeImpersonated(member.name);
}

/** By any live grant, whatever denies take of it: a deny makes nobody somebody who can be acted as. */
export function holdsActing(principals: Principals, principal: PolicyPrincipal): boolean {
  return principal.type === 'engine' && principals.actors.has(principal.name);
}

/** Those of whom `as` names who can be acted as. */
export function actingTargets(principals: Principals, as: PolicyPrincipal): Member[] {
  return [...principals.members(as).values()].filter((member) => canBeActedAs(principals, member));
}

/** By the names of those who act as others, the names of those whom they act as: all pairs at once, as `decide` has each. */
export function actingPairs({ grants, policies, at }: Snapshot, principals: Principals): Map<string, Set<string>> {
  const pairs = new Map<string, Set<string>>();
  if (principals.actors.size === 0) return pairs;
  const named = ({ resource: { as } }: SnapshotGrant | SnapshotPolicy): Member[] =>
    as === undefined ? [] : [...principals.members(as).values()].filter((member) => canBeActedAs(principals, member));
  const denies = policies.filter(({ kind, resource }) => kind === 'deny' && resource.as !== undefined);
  for (const grant of grants) {
    const { principal, resource } = grant;
    if (resource.as === undefined || principal.type !== 'engine' || !isLive(grant, at)) continue;
    if (!holdsActing(principals, principal)) continue;
    const names = getOrInsert(pairs, principal.name, () => new Set<string>());
    for (const { name } of named(grant)) names.add(name);
  }
  for (const deny of denies)
    for (const [name, names] of pairs)
      if (principals.throughPolicy(deny, { type: 'engine', name }) !== null)
        for (const target of named(deny)) names.delete(target.name);
  return pairs;
}
