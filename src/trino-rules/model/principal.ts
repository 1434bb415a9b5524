/** An account, a group, or an engine principal, which is a literal name and is never an account. */
export type Principal = { type: 'user'; id: number } | { type: 'group'; id: number } | { type: 'engine'; name: string };

export type GroupMember = Exclude<Principal, { type: 'group' }>;

/** Principal of a grant or policy. Besides users, groups and engine principals it can be everyone. */
export type PolicyPrincipal = Principal | { type: 'everyone' };

export const PRINCIPAL_TYPES = ['user', 'group', 'engine'] as const satisfies readonly Principal['type'][];
export const POLICY_PRINCIPAL_TYPES: readonly PolicyPrincipal['type'][] = [...PRINCIPAL_TYPES, 'everyone'];

/** A principal with its current name, as it is shown to people. */
export type NamedPrincipal =
  | { type: 'user'; id: number; name: string }
  | { type: 'group'; id: number; name: string }
  | { type: 'engine'; name: string };

export type NamedPolicyPrincipal = NamedPrincipal | { type: 'everyone' };

/** Whether a principal has an id: a user or a group. */
export function hasId(named: PolicyPrincipal): named is Extract<PolicyPrincipal, { id: number }> {
  return 'id' in named;
}

/** The text form on the command line and in URLs: `user:12`, `group:3`, `engine:etl`, `everyone`. */
export function principalText(principal: PolicyPrincipal): string {
  if (hasId(principal)) return `${principal.type}:${principal.id}`;
  return 'name' in principal ? `${principal.type}:${principal.name}` : principal.type;
}

/** The form in a snapshot file: without an id. */
export function byName(principal: NamedPolicyPrincipal): { type: PolicyPrincipal['type']; name?: string } {
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
  /** A name that the snapshot does not contain: no grant or policy applies to it. */
  | { kind: 'stranger'; name: string };

/** A subject as a principal with a name on the engine. */
export function memberOf(subject: Subject): Exclude<NamedPrincipal, { type: 'group' }> {
  const { name } = subject;
  return subject.kind === 'person' ? { type: 'user', id: subject.userId, name } : { type: 'engine', name };
}
