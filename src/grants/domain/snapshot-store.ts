import type { Principal } from '../../trino-rules/model/principal.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { GrantOnPath } from '../../trino-rules/answers/ways.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { Growth } from './admission-ports.js';

/** The database's part of a snapshot; the settings are added later. */
export type WrittenSnapshot = Omit<Snapshot, 'settings' | 'at'>;

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
   * One consistent state; inside a transaction, with its own writes. Revoked grants, and those expired at `at`, are left out:
   * they have no effect, so snapshots must not differ by them.
   */
  abstract read(at: Date): Promise<WrittenSnapshot>;
  /** The same for the touched rows and the principals that they name. Null: these are more than `maxRows` rows. */
  abstract readTouched(at: Date, touched: Touched, maxRows: number): Promise<WrittenSnapshot | null>;
  /**
   * The same for one principal: with its row, its groups without their other members, and what names it, one of them or everyone.
   * @param node only with what is granted there or above; null: everywhere. Of an engine principal all its grants, which make it one
   * of everyone.
   */
  abstract readFor(at: Date, principal: Principal, node: Node | null): Promise<WrittenSnapshot>;
  /** Grants on the node and above it that were never revoked, expired ones too: to the principal, to any group, and to everyone. */
  abstract grantsOnPath(principal: Principal, node: Node): Promise<GrantOnPath[]>;
  /** The growth by rows written since then that still have effect. */
  abstract growth(since: Date): Promise<Growth>;
}
