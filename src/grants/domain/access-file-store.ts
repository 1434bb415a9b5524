import type { Descriptions } from '../../trino-rules/model/snapshot-export.js';

/** Reads and locks for exporting and applying snapshot files, besides the snapshot itself. */
export abstract class AccessFileStore {
  /** Of all rows, ended ones too. */
  abstract descriptions(): Promise<Descriptions>;
  /** Ids of groups whose members the identity provider decides. */
  abstract managedGroups(): Promise<ReadonlySet<number>>;
  /** At the beginning of a transaction: all that it reads is of one state. */
  abstract readOneState(): Promise<void>;
  /** Until the transaction ends, groups, grants and policies are changed by this transaction alone; others wait. @throws Error that says so where they do not end */
  abstract lockWrites(): Promise<void>;
}
