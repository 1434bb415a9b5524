import type { Page, PageRequest } from '../../kernel/page.js';
import type { NamedPolicyPrincipal, PolicyPrincipal } from '../../trino-rules/model/principal.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import type { NamedNode, Node } from '../../trino-rules/model/node.js';
import { ANY_ENTRY, type EntryFilter } from './entry-filter.js';

/** The account that made a change; null: the command line. */
export type Actor = { id: number; name: string } | null;

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
  /** Exclusive; null: whenever, and never. */
  expiresBefore: Date | null;
  /** Those of any of these; null: of any at all. */
  privileges: readonly Privilege[] | null;
}

/** Of grants on any node to anybody. */
export const ANY_GRANT: Omit<GrantFilter, 'state'> = { ...ANY_ENTRY, expiresBefore: null, privileges: null };

/** Grants. Rows never change, except to be revoked. */
export abstract class GrantStore {
  /** The outcome of each, in their order; ids rise in it. */
  abstract grant(grants: readonly NewGrant[], by: number | null, at: Date): Promise<GrantOutcome[]>;
  /** The outcome of each id, in their order. Null: there is no such grant. */
  abstract revoke(ids: readonly number[], by: number | null, at: Date): Promise<(RevokeOutcome | null)[]>;
  abstract find(id: number): Promise<Grant | null>;
  /** By id, the oldest first. */
  abstract list(filter: GrantFilter, page: PageRequest, at: Date): Promise<Page<Grant>>;
}

export function stateOf(grant: Grant, at: Date): Exclude<GrantState, 'all'> {
  if (grant.revokedAt !== null) return 'revoked';
  return grant.expiresAt !== null && grant.expiresAt <= at ? 'expired' : 'live';
}
