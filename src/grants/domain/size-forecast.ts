import type { Snapshot } from '../../trino-rules/model/snapshot.js';

/** What was written since some moment, in a generous guess at what it adds to the rules. */
export interface Growth {
  /** Of rules on the nodes that were granted, with everybody whom the grants name. */
  bytes: number;
  /** Something was written that can change rules on nodes which it does not name: above tables, a policy, a membership. */
  isWide: boolean;
}

export interface Forecast {
  /** False: what is being written could not be published. */
  fits: boolean;
  /** Why it would not, or how little room is left, and what to do. */
  message: string;
}

/** Whether what is being written could still be published. `acl-sync` provides it, because it knows compiler and target. */
export abstract class SizeForecast {
  /**
   * Asked inside the transaction that writes.
   * @param read the snapshot that the transaction would leave; asked for only where it matters
   * @returns null: there is room enough
   */
  abstract forecast(read: () => Promise<Snapshot>, growth: (since: Date) => Promise<Growth>): Promise<Forecast | null>;
}
