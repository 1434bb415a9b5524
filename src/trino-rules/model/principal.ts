/** An account, a group, or an engine principal: a name on the engine that belongs to no account, such as a program's. */
export type Principal = { type: 'user'; id: number } | { type: 'group'; id: number } | { type: 'engine'; name: string };

export type GroupMember = Exclude<Principal, { type: 'group' }>;

/** Principal of a grant or policy. Besides users, groups and engine principals it can be everyone. */
export type PolicyPrincipal = Principal | { type: 'everyone' };

export const PRINCIPAL_TYPES = ['user', 'group', 'engine'] as const satisfies readonly Principal['type'][];
export const POLICY_PRINCIPAL_TYPES: readonly PolicyPrincipal['type'][] = [...PRINCIPAL_TYPES, 'everyone'];

/** A principal with its current name, as it is shown to people. */
export type NamedPrincipal = Principal & { name: string };

export type NamedPolicyPrincipal = NamedPrincipal | { type: 'everyone' };

export function hasId(principal: PolicyPrincipal): principal is Extract<PolicyPrincipal, { id: number }> {
  return 'id' in principal;
}

/** The text form on the command line and in URLs: `user:12`, `group:3`, `engine:etl`, `everyone`. */
export function principalText(principal: PolicyPrincipal): string {
  if (hasId(principal)) return `${principal.type}:${principal.id}`;
  return 'name' in principal ? `${principal.type}:${principal.name}` : principal.type;
}

/** A principal as a snapshot file contains it: without an id. */
export function principalWithoutId(principal: NamedPolicyPrincipal): { type: PolicyPrincipal['type']; name?: string } {
  return 'name' in principal ? { type: principal.type, name: principal.name } : principal;
}

export const PRINCIPAL_TYPE_TEXTS: Readonly<Record<PolicyPrincipal['type'], string>> = {
  user: 'a user',
  group: 'a group',
  engine: 'an engine principal',
  everyone: 'everyone',
};

/** A user as the engine knows it. */
export type Subject =
  | { kind: 'person'; name: string; userId: number; isActive: boolean }
  | { kind: 'engine'; name: string }
  | { kind: 'service-account'; name: string }
  /** A name that is not in the snapshot, so that no grant or policy applies. */
  | { kind: 'stranger'; name: string };

export function toPrincipal(subject: Subject): Exclude<NamedPrincipal, { type: 'group' }> {
  const { name } = subject;
  return subject.kind === 'person' ? { type: 'user', id: subject.userId, name } : { type: 'engine', name };
}
