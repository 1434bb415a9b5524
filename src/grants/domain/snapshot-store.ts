import type { Growth } from './size-forecast.js';
import type { Snapshot } from './snapshot.js';

/** What is written down, at one moment; the settings come from elsewhere. */
export type WrittenSnapshot = Omit<Snapshot, 'settings' | 'at'>;

/** Reads everything that the rules follow from. */
export abstract class SnapshotStore {
  /**
   * One consistent state; inside a transaction, what that would leave. Grants that are revoked, or expired at `at`, are left out:
   * they have no effect, and no two snapshots differ by them.
   */
  abstract read(at: Date): Promise<WrittenSnapshot>;
  /** What was written since then and still holds. */
  abstract growth(since: Date): Promise<Growth>;
}
