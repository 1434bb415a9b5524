import type { Page, PageRequest } from '../../kernel/page.js';
import type { NamedPrincipal, Principal } from '../../trino-rules/model/principal.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import type { Resource } from '../../trino-rules/model/resource.js';

/** Who did something; null: nobody was signed in (the command line). */
export type Actor = { id: number; name: string } | null;

export interface Grant {
  id: number;
  principal: NamedPrincipal;
  resource: Resource;
  privileges: Privilege[];
  /** Without effect from this moment on. */
  expiresAt: Date | null;
  description: string | null;
  grantedBy: Actor;
  grantedAt: Date;
  revokedBy: Actor;
  revokedAt: Date | null;
}

export interface NewGrant {
  principal: Principal;
  resource: Resource;
  /** In the engine's order, each once: see `orderedPrivileges`. */
  privileges: Privilege[];
  expiresAt: Date | null;
  description: string | null;
}

export const GRANT_STATES = ['live', 'expired', 'revoked', 'all'] as const;
export type GrantState = (typeof GRANT_STATES)[number];

export interface GrantFilter {
  principal: Principal | null;
  catalog: string | null;
  schema: string | null;
  table: string | null;
  state: GrantState;
}

/** Where grants are kept. Rows are never changed but by revoking. */
export abstract class GrantStore {
  /** `created` false: principal, resource, privileges and expiry are those of a grant that lives already; it is the answer. */
  abstract grant(grant: NewGrant, by: number | null, at: Date): Promise<{ grant: Grant; created: boolean }>;
  /** Null: there is no such grant. `revoked` false: it was revoked before, and stays as it was. */
  abstract revoke(id: number, by: number | null, at: Date): Promise<{ grant: Grant; revoked: boolean } | null>;
  abstract find(id: number): Promise<Grant | null>;
  /** By id, the oldest first. */
  abstract list(filter: GrantFilter, page: PageRequest, at: Date): Promise<Page<Grant>>;
}

export function stateOf(grant: Grant, at: Date): Exclude<GrantState, 'all'> {
  if (grant.revokedAt !== null) return 'revoked';
  return grant.expiresAt !== null && grant.expiresAt <= at ? 'expired' : 'live';
}
