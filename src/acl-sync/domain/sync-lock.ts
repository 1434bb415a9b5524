import { NamedError } from '../../kernel/errors.js';

/** The right to publish, while the lock is held. */
export interface Lease {
  /** Called before every write. @throws LeaseLost */
  confirm(): Promise<void>;
}

/** Serializes the runs of all replicas and commands. */
export abstract class SyncLock {
  /**
   * @param lockTimeoutMs how long to wait for another run
   * @returns `busy` when the other run took longer
   */
  abstract whileHeld<T>(
    lockTimeoutMs: number,
    work: (lease: Lease) => Promise<T>,
  ): Promise<{ kind: 'held'; result: T } | { kind: 'busy' }>;
}

/** The connection that held the lock is lost, so another run may have started. */
export class LeaseLost extends NamedError {
  constructor() {
    super('the connection to the database that kept other runs away was lost');
  }
}
