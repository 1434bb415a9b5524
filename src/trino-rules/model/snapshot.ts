import type { PolicyPrincipal, Principal } from './principal.js';
import type { Privilege } from './privilege.js';
import { namedBy, type Node } from './node.js';
import type { ColumnResource } from './resource.js';

/** An account. `name` is what the engine knows the person as, spelled as stored (it may hold upper-case letters). */
export interface SnapshotUser {
  id: number;
  name: string;
  isActive: boolean;
}

export interface SnapshotGroup {
  id: number;
  name: string;
  /** Ids of accounts. */
  members: readonly number[];
  /** Names of engine principals that are members besides. */
  engines: readonly string[];
}

export interface SnapshotGrant {
  /** The row's id, for explanations; a snapshot file without ids numbers them from 1. */
  id: number;
  principal: PolicyPrincipal;
  resource: Node;
  privileges: readonly Privilege[];
  /** Without effect from this moment on. */
  expiresAt: Date | null;
  revokedAt: Date | null;
}

/** Neither revoked nor expired at the snapshot's moment; an expiry takes effect at the very instant it names. */
export function isLive(grant: SnapshotGrant, at: Date): boolean {
  return grant.revokedAt === null && (grant.expiresAt === null || grant.expiresAt > at);
}

export const POLICY_KINDS = ['row_filter', 'column_mask', 'hidden_column', 'deny'] as const;

interface PolicyBase {
  id: number;
  principal: PolicyPrincipal;
  /** Principals that the policy does not apply to. */
  except: readonly Principal[];
}

export type SnapshotPolicy =
  | (PolicyBase & { kind: 'row_filter'; resource: Node; expression: string })
  | (PolicyBase & { kind: 'column_mask'; resource: ColumnResource; expression: string })
  | (PolicyBase & { kind: 'hidden_column'; resource: ColumnResource })
  | (PolicyBase & { kind: 'deny'; resource: Node; privileges: readonly Privilege[] });

/** Whom a grant or a policy names: for whom it is, in its node, and as exceptions. */
export function principalsOf({ principal, resource, ...rest }: SnapshotGrant | SnapshotPolicy): PolicyPrincipal[] {
  return [principal, namedBy(resource) ?? [], 'except' in rest ? rest.except : []].flat();
}

/** The settings that shape the rules; names as in `.env.example`. */
export interface SnapshotSettings {
  /** Grantline's own account on the engine, the only service account that may impersonate. */
  ownAccount: string;
  /** Every service account, the own one among them. */
  serviceAccounts: readonly string[];
  writableCatalogs: readonly string[];
  readableCatalogs: readonly string[];
  /** The service's own catalog, closed to grants; null: there is none. */
  metadataCatalog: string | null;
  impersonation: boolean;
  /** What people may `SET SESSION`: names of system session properties. */
  sessionProperties: readonly string[];
  /** Whether reading alone opens table procedures (`ALTER TABLE … EXECUTE`), which change the table for everybody. */
  readersMaintain: boolean;
  /** Catalogs in which tables can be made over the files of others. */
  externalTableCatalogs: readonly string[];
  /** Catalogs over Kafka, Elasticsearch, OpenSearch and Redis, whose raw columns repeat the others. */
  rawColumnCatalogs: readonly string[];
}

/** Everything that the rules follow from, at one moment. Order within the lists means nothing. */
export interface Snapshot {
  users: readonly SnapshotUser[];
  groups: readonly SnapshotGroup[];
  grants: readonly SnapshotGrant[];
  policies: readonly SnapshotPolicy[];
  settings: SnapshotSettings;
  /** The moment for which expiries are judged. */
  at: Date;
}
