import { covers, type Node } from './node.js';
import { type PolicyPrincipal, type Principal, principalText } from './principal.js';
import type { Member, Principals } from './principals.js';
import { getOrInsert } from '../../kernel/collections.js';
import { isLive, type Snapshot, type SnapshotGrant, type SnapshotPolicy, type SnapshotSettings } from './snapshot.js';

/** Like `covers`, but a node about a group or everyone (in `queries` or `as`) also covers nodes about the members. */
export function coversMembers(principals: Principals, upperNode: Node, node: Node): boolean {
  if (upperNode.queries !== undefined && node.queries !== undefined)
    return includesOwners(principals, upperNode.queries, node.queries);
  if (upperNode.as === undefined || node.as === undefined || isSinglePrincipal(upperNode.as))
    return covers(upperNode, node);
  if (upperNode.as.type === 'everyone' || covers(upperNode, node)) return true;
  return principals.members(upperNode.as).has(principalText(node.as));
}

function includesOwners(principals: Principals, upperOwners: PolicyPrincipal, owners: PolicyPrincipal): boolean {
  if (isSinglePrincipal(owners)) return principals.owners(upperOwners).has(principalText(owners));
  return upperOwners.type === 'everyone' || principalText(upperOwners) === principalText(owners);
}

function isSinglePrincipal({ type }: PolicyPrincipal): boolean {
  return type === 'user' || type === 'engine';
}

/**
 * Nodes for the members whom a denied group shares with another group. Rights over these members can differ from rights over the rest of
 * the group.
 */
export function deniedMembers(principals: Principals, grantNodes: readonly Node[], denyNodes: readonly Node[]): Node[] {
  return denyNodes.flatMap((denyNode) => {
    const comparedNodes = denyNode.queries === undefined ? grantNodes : [...grantNodes, ...denyNodes];
    const unrelatedNodes = comparedNodes.filter(
      (node) => !coversMembers(principals, denyNode, node) && !coversMembers(principals, node, denyNode),
    );
    return unrelatedNodes.length === 0
      ? []
      : memberNodes(principals, denyNode).filter((member) =>
          unrelatedNodes.some((node) => coversMembers(principals, node, member)),
        );
  });
}

function memberNodes(principals: Principals, { as, queries }: Node): Node[] {
  if (queries !== undefined)
    return [...principals.owners(queries).values()].map((owner) => ({ queries: principalOfMember(owner) }));
  return as === undefined
    ? []
    : [...principals.members(as).values()].map((member) => ({ as: principalOfMember(member) }));
}

function principalOfMember(member: Member): Principal {
  return member.type === 'user' ? { type: 'user', id: member.id } : member;
}

export function principalNamed(principals: Principals, name: string): Principal {
  return principals.userNamed(name) ?? { type: 'engine', name };
}

/** Whether a rule can name this user in `new_user`, where the engine fails on `$` and drops `\` (seen on 483). Without `\`, the characters `^`, `[` and `]` cannot be escaped. */
export function isReplacementSafe(name: string): boolean {
  return !/[$\\^[\]]/.test(name);
}

/** Whether a user of this name can be impersonated: OPA decides about any name, a rules file only about names that it can contain. */
export function isImpersonableName(name: string, { rulesFile = true }: SnapshotSettings): boolean {
  return !rulesFile || isReplacementSafe(name);
}

/**
 * Whether a principal can be impersonated. Principals that may impersonate others cannot, because the engine allows chains of impersonation
 * (seen on 483).
 */
export function canBeImpersonated(principals: Principals, principal: PolicyPrincipal): boolean {
  const member = principals.members({ type: 'everyone' }).get(principalText(principal));
  if (member === undefined || hasImpersonateGrant(principals, principal)) return false;
  return isImpersonableName(member.name, principals.snapshot.settings);
}

/** Whether an engine principal has a live grant of IMPERSONATE, even one that a policy denies. Nobody may impersonate a principal with such a grant. */
export function hasImpersonateGrant(principals: Principals, principal: PolicyPrincipal): boolean {
  return principal.type === 'engine' && principals.impersonators.has(principal.name);
}

export function impersonationTargets(principals: Principals, impersonated: PolicyPrincipal): Member[] {
  return [...principals.members(impersonated).values()].filter((member) => canBeImpersonated(principals, member));
}

/** The names that each engine principal may impersonate, by the name of the engine principal. */
export function targetsByImpersonator(
  { grants, policies, at }: Snapshot,
  principals: Principals,
): Map<string, Set<string>> {
  const targetsByName = new Map<string, Set<string>>();
  const targetsOf = ({ resource: { as } }: SnapshotGrant | SnapshotPolicy): Member[] =>
    as === undefined ? [] : impersonationTargets(principals, as);
  for (const grant of grants) {
    const { principal, resource } = grant;
    if (resource.as === undefined || principal.type !== 'engine' || !isLive(grant, at)) continue;
    if (!hasImpersonateGrant(principals, principal)) continue;
    const targetNames = getOrInsert(targetsByName, principal.name, () => new Set<string>());
    for (const { name } of targetsOf(grant)) targetNames.add(name);
  }
  for (const policy of policies)
    for (const [name, names] of policy.kind === 'deny' ? targetsByName : [])
      if (principals.policyAppliesThrough(policy, { type: 'engine', name }) !== null)
        for (const target of targetsOf(policy)) names.delete(target.name);
  return targetsByName;
}
