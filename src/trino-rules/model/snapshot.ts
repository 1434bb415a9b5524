import type { Guarantee } from './guarantee.js';
import type { PolicyPrincipal, Principal } from './principal.js';
import type { Privilege } from './privilege.js';
import { namedBy, type Node } from './node.js';
import type { ColumnResource } from './resource.js';

/** An account. `name` is the name on the engine, spelled as stored (it may have upper-case letters). */
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
  /** Names of engine principals that are members. */
  engines: readonly string[];
}

export interface SnapshotGrant {
  /** The row's id, for explanations; a snapshot file without ids numbers them from 1. */
  id: number;
  principal: PolicyPrincipal;
  resource: Node;
  privileges: readonly Privilege[];
  /** The grant has no effect from this moment on. */
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

/** All principals that a grant or a policy names: its own, in its node, and as exceptions. */
export function principalsOf({ principal, resource, ...rest }: SnapshotGrant | SnapshotPolicy): PolicyPrincipal[] {
  return [principal, namedBy(resource) ?? [], 'except' in rest ? rest.except : []].flat();
}

/** The settings that shape the rules; names as in `.env.example`. */
export interface SnapshotSettings {
  /** Grantline's own account on the engine, the only service account that may impersonate. */
  ownAccount: string;
  /** All service accounts, including the own one. */
  serviceAccounts: readonly string[];
  writableCatalogs: readonly string[];
  readableCatalogs: readonly string[];
  /** The service's own catalog, closed to grants; null: there is none. */
  metadataCatalog: string | null;
  impersonation: boolean;
  /** System session properties that users may set. */
  sessionProperties: readonly string[];
  /** Whether reading alone opens table procedures (`ALTER TABLE … EXECUTE`), which change the table for all users. */
  readersMaintain: boolean;
  /** Catalogs in which users can create tables over the files of other tables. */
  externalTableCatalogs: readonly string[];
  /** Catalogs over Kafka, Elasticsearch, OpenSearch and Redis, whose raw columns repeat the others. */
  rawColumnCatalogs: readonly string[];
}

/** All input of the rules at one moment. The order of the lists has no meaning. */
export interface Snapshot {
  users: readonly SnapshotUser[];
  groups: readonly SnapshotGroup[];
  grants: readonly SnapshotGrant[];
  policies: readonly SnapshotPolicy[];
  settings: SnapshotSettings;
  /** Grants that expire until this moment have no effect. */
  at: Date;
  /** Judged with the rules, which do not depend on them. Absent: there are none. */
  guarantees?: readonly Guarantee[];
}
