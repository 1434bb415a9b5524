import type { Snapshot } from '../../trino-rules/model/snapshot.js';

/** An upper estimate of what the rows written since a given time add to the rules. */
export interface Growth {
  /** Of rules on the granted nodes, with all principals of the grants. */
  bytes: number;
  /** A row can change rules on nodes that it does not name: a grant above tables, a policy, a membership. */
  isWide: boolean;
}

export interface Forecast {
  /** False: the state being written could not be published. */
  fits: boolean;
  /** Why it does not fit, or how little capacity is left, and what to do. */
  message: string;
}

/** Port: whether the state being written still fits the target. `acl-sync` implements it with compiler and target. */
export abstract class SizeForecast {
  /**
   * Called inside the writing transaction.
   * @param read the snapshot that the transaction leaves; called only near the limit
   * @returns null: there is enough capacity
   */
  abstract forecast(read: () => Promise<Snapshot>, growth: (since: Date) => Promise<Growth>): Promise<Forecast | null>;
}
