import { NamedError } from '../../kernel/errors.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { Candidate, Preparation, TooLarge } from './candidate.js';
import type { WithdrawalOrder } from './prepared-withdrawal.js';

export class PreparationExceeded extends NamedError {
  constructor(
    readonly reason: 'deadline' | 'memory',
    limit: string,
  ) {
    super(`compiling and checking the rules takes more than ${limit}`);
  }
}

export type CompiledText = { kind: 'compiled'; text: string } | TooLarge;

/** Compiles and checks rules outside the event loop, because that takes seconds. */
export abstract class RulesPreparer {
  /** Identifies the build of the compiler. Equal builds make equal texts from equal snapshots. */
  abstract readonly build: string;
  /**
   * `prepare`, with the digest of this build's compiler.
   * @throws PreparationExceeded
   */
  abstract prepare(preparation: Preparation): Promise<Candidate>;
  abstract withdraw(preparation: Preparation, order: WithdrawalOrder): Promise<Candidate | null>;
  /**
   * Only compiles: the text, unchecked.
   * @param limit bytes of the target; null: it has none
   * @throws PreparationExceeded
   */
  abstract compile(snapshot: Snapshot, limit: number | null): Promise<CompiledText>;
  /**
   * The access that people gain and lose by the second text. A text that cannot be read counts as giving none.
   * @throws PreparationExceeded
   */
  abstract compare(before: string, after: string): Promise<AccessChange>;
}

/** The right to publish, while the lock is held. */
export interface Lease {
  /** Called before every write. @throws LeaseLost */
  confirm(): Promise<void>;
}

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
