import type { Guarantee } from './guarantee.js';
import type { PolicyPrincipal, Principal } from './principal.js';
import type { Privilege } from './privilege.js';
import { principalIn, type Node } from './node.js';
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
  /** The id of the row, for explanations. Rows without an id in a snapshot file are numbered after the highest id. */
  id: number;
  principal: PolicyPrincipal;
  resource: Node;
  privileges: readonly Privilege[];
  /** The grant has no effect from this moment on. */
  expiresAt: Date | null;
  revokedAt: Date | null;
}

/** Whether a grant is neither revoked nor expired. At the moment `expiresAt` itself the grant has expired. */
export function isLive(grant: SnapshotGrant, moment: Date): boolean {
  return grant.revokedAt === null && (grant.expiresAt === null || grant.expiresAt > moment);
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

/** All principals that a grant or a policy names: its own principal, the one in its node, and its exceptions. */
export function principalsOf({ principal, resource, ...rest }: SnapshotGrant | SnapshotPolicy): PolicyPrincipal[] {
  return [principal, principalIn(resource) ?? [], 'except' in rest ? rest.except : []].flat();
}

/** The settings that decide access. `.env.example` explains each. */
export interface SnapshotSettings {
  /** Grantline's own account on the engine, the only service account that may impersonate. */
  ownAccount: string;
  /** All service accounts, including `ownAccount`. */
  serviceAccounts: readonly string[];
  writableCatalogs: readonly string[];
  readableCatalogs: readonly string[];
  /** The service's own catalog, to which nobody can be given access; null: the service has no catalog. */
  metadataCatalog: string | null;
  impersonation: boolean;
  /** System session properties that users may set. */
  sessionProperties: readonly string[];
  /** Whether users who only read may run table procedures (`ALTER TABLE … EXECUTE`), which change the table for all users. */
  readersMaintain: boolean;
  /** Catalogs in which users can create tables over the files of other tables. */
  externalTableCatalogs: readonly string[];
  /** Catalogs over Kafka, Elasticsearch, OpenSearch and Redis, where a column such as `_message` repeats the whole row. */
  rawColumnCatalogs: readonly string[];
  /** Whether a rules file is published, so that users whose names the file cannot contain cannot be impersonated. False if OPA is the only target; absent: true. */
  rulesFile?: boolean | undefined;
}

/** All input of the compiler at one moment. The order of the lists has no meaning. */
export interface Snapshot {
  users: readonly SnapshotUser[];
  groups: readonly SnapshotGroup[];
  grants: readonly SnapshotGrant[];
  policies: readonly SnapshotPolicy[];
  settings: SnapshotSettings;
  /** The moment of the snapshot. Grants that have expired by then have no effect. */
  at: Date;
  /** Conditions that the rules are checked against. They do not change the rules. */
  guarantees?: readonly Guarantee[];
}
