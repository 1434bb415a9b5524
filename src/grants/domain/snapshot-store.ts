import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { Growth } from './size-forecast.js';

/** What is written down, at one moment; the settings come from elsewhere. */
export type WrittenSnapshot = Omit<Snapshot, 'settings' | 'at'>;

/** What a transaction changes rules for. */
export interface Touched {
  /** With everything above and below. A table stands for its schema, whose tables share rules. */
  nodes: readonly { catalog: string; schema?: string }[];
  /** Ids: every node on which something names one of these groups. */
  groups: readonly number[];
}

/** Reads everything that the rules follow from. */
export abstract class SnapshotStore {
  /**
   * One consistent state; inside a transaction, what that would leave. Grants that are revoked, or expired at `at`, are left out:
   * they have no effect, and no two snapshots differ by them.
   */
  abstract read(at: Date): Promise<WrittenSnapshot>;
  /**
   * The same, of what is touched alone, and of those whom it names. Null: that is more than `mostRows` grants.
   */
  abstract readTouched(at: Date, touched: Touched, mostRows: number): Promise<WrittenSnapshot | null>;
  /** What was written since then and still holds. */
  abstract growth(since: Date): Promise<Growth>;
}
