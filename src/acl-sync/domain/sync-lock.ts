/** The right to publish, for as long as it is held. */
export interface Lease {
  /** To be called before anything is written. @throws LeaseLost */
  confirm(): Promise<void>;
}

/** Lets one run of the sync happen at a time, in all replicas and commands. */
export abstract class SyncLock {
  /**
   * @param patienceMs how long to wait for a run that is under way
   * @returns `busy` when it went on for longer
   */
  abstract whileHeld<T>(
    patienceMs: number,
    work: (lease: Lease) => Promise<T>,
  ): Promise<{ kind: 'held'; result: T } | { kind: 'busy' }>;
}

/** The connection that held the lock is gone, so another run may have begun. */
export class LeaseLost extends Error {
  constructor() {
    super('the connection to the database that kept other runs away was lost');
    this.name = 'LeaseLost';
  }
}
