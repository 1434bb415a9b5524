import type { NamedNode, Node, NodeKind } from '../../trino-rules/model/node.js';
import type { NamedPolicyPrincipal, PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { type Privilege, privilegesOn } from '../../trino-rules/model/privilege.js';

/** A filter of grants or policies by principal and node. Absent or null fields match any. */
export interface EntryFilter {
  principal?: PolicyPrincipal | null;
  catalog?: string | undefined;
  schema?: string | undefined;
  table?: string | undefined;
  routine?: string | undefined;
  kind?: NodeKind | undefined;
  /** The principal in `as` or `queries` of a node: the principal to act as, or the owner of the queries. */
  targetPrincipal?: PolicyPrincipal | null;
  /** A node of the tree. The filter matches grants and policies on it and above it. Everything is not above `system` and the metadata catalog. */
  covering?: Node | null;
  /** Part of the name of the principal or of the node, compared without case. */
  text?: string | undefined;
}

/** The account that made a change; null: the command line. */
type Actor = { id: number; name: string } | null;

export interface Grant {
  id: number;
  principal: NamedPolicyPrincipal;
  resource: NamedNode;
  privileges: Privilege[];
  expiresAt: Date | null;
  description: string | null;
  grantedBy: Actor;
  grantedAt: Date;
  revokedBy: Actor;
  revokedAt: Date | null;
}

export interface NewGrant {
  principal: PolicyPrincipal;
  resource: Node;
  /** Distinct, in the engine's order: see `orderedPrivileges`. */
  privileges: Privilege[];
  expiresAt: Date | null;
  description: string | null;
}

/** The result of granting. `isNew` is false if a live grant with the same principal, resource, privileges and expiry existed. */
export interface GrantOutcome {
  grant: Grant;
  isNew: boolean;
}

/** The result of revoking. `isNewlyRevoked` is false if the grant was revoked before; such a grant is not changed. */
export interface RevokeOutcome {
  grant: Grant;
  isNewlyRevoked: boolean;
}

export const GRANT_STATES = ['live', 'expired', 'revoked', 'all'] as const;
export type GrantState = (typeof GRANT_STATES)[number];

export interface GrantFilter extends EntryFilter {
  state: GrantState;
  /** Exclusive bound of the expiry; absent: any expiry or none. */
  expiresBefore?: Date | undefined;
  privileges?: readonly Privilege[] | undefined;
}

export function stateOf(grant: Grant, now: Date): Exclude<GrantState, 'all'> {
  if (grant.revokedAt !== null) return 'revoked';
  return grant.expiresAt !== null && grant.expiresAt <= now ? 'expired' : 'live';
}

/** Why `text` cannot be a description; null if it can, or if it is absent. */
export function descriptionProblem(text: unknown): string | null {
  if (text === undefined || text === null) return null;
  if (typeof text !== 'string') return 'must be a string';
  if (Array.from(text).length > 1000) return 'must have at most 1000 characters';
  // PostgreSQL cannot store NUL, and UTF-8 has no unpaired surrogates.
  return /[\0\p{Cs}]/u.test(text) ? 'must not contain NUL or an unpaired surrogate' : null;
}

/** The message for a value that is no privilege. Names those of the node beside it, because an answer has no room for all. */
export function privilegeMessage({ object }: { object: object }): string {
  const node = 'resource' in object ? (Object(object.resource) as Node) : object;
  return `must be among ${privilegesOn(node).join(', ')}`;
}
