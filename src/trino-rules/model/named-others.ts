import { covers, type Node } from './node.js';
import { type PolicyPrincipal, type Principal, principalText } from './principal.js';
import type { Member, Principals } from './principals.js';

/** As `covers`, where acting as everyone or as a group covers acting as each of them, and so do their queries. */
export function coversIn(principals: Principals, wide: Node, node: Node): boolean {
  if (wide.queries !== undefined && node.queries !== undefined)
    return areOwnersOf(principals, wide.queries, node.queries);
  if (wide.as === undefined || node.as === undefined || isSingle(wide.as)) return covers(wide, node);
  return wide.as.type === 'everyone' || covers(wide, node) || principals.members(wide.as).has(principalText(node.as));
}

/** An engine principal that nothing but this node names is one of nobody else. */
function areOwnersOf(principals: Principals, wide: PolicyPrincipal, named: PolicyPrincipal): boolean {
  if (isSingle(named)) return principals.owners(wide).has(principalText(named));
  return wide.type === 'everyone' || principalText(wide) === principalText(named);
}

function isSingle({ type }: PolicyPrincipal): boolean {
  return type === 'user' || type === 'engine';
}

/**
 * Where denies of acting as a group, or on its queries, show that no node of a grant shows: at each of its members that a grant names
 * by itself or by another group. Denies on queries can take one right each.
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

/** Who has this name on the engine. */
export function principalNamed(principals: Principals, name: string): Principal {
  return principals.userNamed(name) ?? { type: 'engine', name };
}
