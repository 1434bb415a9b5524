import type { Snapshot } from './snapshot.js';

/** Whether what is being written could still be published. `acl-sync` provides it, because it knows compiler and target. */
export abstract class SizeForecast {
  /**
   * Asked inside the transaction that writes.
   * @param read the snapshot that the transaction would leave; asked for only where it matters
   * @returns why the rules would not fit their target, as a sentence; null: they will
   */
  abstract tooLarge(read: () => Promise<Snapshot>): Promise<string | null>;
}
