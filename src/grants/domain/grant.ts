import type { NamedNode, Node, NodeKind } from '../../trino-rules/model/node.js';
import type { NamedPolicyPrincipal, PolicyPrincipal } from '../../trino-rules/model/principal.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';

/** Which grants, or which policies, by whom they are for and by their nodes. Absent or null: any. */
export interface EntryFilter {
  principal?: PolicyPrincipal | null;
  catalog?: string | undefined;
  schema?: string | undefined;
  table?: string | undefined;
  routine?: string | undefined;
  kind?: NodeKind | undefined;
  /** Whom the node names: as whom somebody acts, or whose queries they are. */
  named?: PolicyPrincipal | null;
  /** A node of the tree: those on it and above it. */
  covering?: Node | null;
  /** Part of the name of whom it is for, or of its node; in any case. */
  text?: string | undefined;
}

/** The account that made a change; null: the command line. */
type Actor = { id: number; name: string } | null;

export interface Grant {
  id: number;
  principal: NamedPolicyPrincipal;
  resource: NamedNode;
  privileges: Privilege[];
  /** No effect from this time on. */
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

/** `created` false: a grant with the same principal, resource, privileges and expiry existed that was not revoked. */
export interface GrantOutcome {
  grant: Grant;
  created: boolean;
}

/** `revoked` false: it was revoked before and is unchanged. */
export interface RevokeOutcome {
  grant: Grant;
  revoked: boolean;
}

export const GRANT_STATES = ['live', 'expired', 'revoked', 'all'] as const;
export type GrantState = (typeof GRANT_STATES)[number];

export interface GrantFilter extends EntryFilter {
  state: GrantState;
  /** Exclusive; absent: whenever, and never. */
  expiresBefore?: Date | undefined;
  /** Those of any of these; absent: of any at all. */
  privileges?: readonly Privilege[] | undefined;
}

export function stateOf(grant: Grant, at: Date): Exclude<GrantState, 'all'> {
  if (grant.revokedAt !== null) return 'revoked';
  return grant.expiresAt !== null && grant.expiresAt <= at ? 'expired' : 'live';
}

/** Why `text` cannot be a description; null: it can, or there is none. */
export function descriptionProblem(text: unknown): string | null {
  if (text === undefined || text === null) return null;
  if (typeof text !== 'string') return 'must be a string';
  if (Array.from(text).length > 1000) return 'must have at most 1000 characters';
  // PostgreSQL cannot store NUL, and UTF-8 has no unpaired surrogates.
  return /[\0\p{Cs}]/u.test(text) ? 'must not contain NUL or an unpaired surrogate' : null;
}
