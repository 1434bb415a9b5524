import type { Principal } from '../../trino-rules/model/principal.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { GrantOnPath } from '../../trino-rules/answers/ways.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { Growth } from './admission-ports.js';

/** The nodes and groups whose rules a transaction changes. */
export interface Touched {
  /** Each with its ancestors and descendants. A table counts as its schema, whose tables share rules. */
  nodes: readonly Node[];
  /** Ids. Touches every node where a grant or a policy names one of these groups. */
  groups: readonly number[];
}

/** Reads the input of the rules. */
export abstract class SnapshotStore {
  /**
   * One consistent state; inside a transaction, with its own writes. Revoked grants, and those expired by now, are left out:
   * they have no effect, so snapshots must not differ by them.
   */
  abstract read(): Promise<Snapshot>;
  /** The same for the touched rows and the principals that they name. Null: these are more than `maxRows` rows. */
  abstract readTouched(touched: Touched, maxRows: number): Promise<Snapshot | null>;
  /**
   * The same for one principal: with its row, its groups without their other members, and what names it, one of them or everyone.
   * @param node only with what is granted there or above; null: everywhere. Of an engine principal all its grants, which make it one
   * of everyone.
   */
  abstract readFor(principal: Principal, node: Node | null): Promise<Snapshot>;
  /** Grants on the node and above it that were never revoked, expired ones too: to the principal, to any group, and to everyone. */
  abstract grantsOnPath(principal: Principal, node: Node): Promise<GrantOnPath[]>;
  /** When the first grant expires after that; null: none does. */
  abstract nextExpiry(after: Date): Promise<Date | null>;
  /** The growth by rows written since then that still have effect. */
  abstract growth(since: Date): Promise<Growth>;
}

/** The settings that the rules depend on, out of all. */
export function snapshotSettings({
  acl,
  engine,
}: {
  acl: Omit<SnapshotSettings, 'ownAccount' | 'impersonation'>;
  engine: { user: string; impersonation: boolean };
}): SnapshotSettings {
  return {
    ownAccount: engine.user,
    serviceAccounts: acl.serviceAccounts,
    writableCatalogs: acl.writableCatalogs,
    readableCatalogs: acl.readableCatalogs,
    metadataCatalog: acl.metadataCatalog,
    impersonation: engine.impersonation,
    sessionProperties: acl.sessionProperties,
    readersMaintain: acl.readersMaintain,
    externalTableCatalogs: acl.externalTableCatalogs,
    rawColumnCatalogs: acl.rawColumnCatalogs,
  };
}
