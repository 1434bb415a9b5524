/**
 * Turns passwords into hashes and compares them, off the event loop. All of it is slow on purpose (some 250 ms) and waits
 * its turn.
 */
export abstract class PasswordHasher {
  /**
   * Does the whole work of a request that needs hashes, where there is a place for it: one for each hashing thread and each
   * that may wait. Places and turns are shared fairly between addresses (FairTurns).
   * @throws Refused `busy` when no place is left for the address, or when `signal` says that nobody waits for the answer any more.
   */
  abstract admit<T>(address: string, signal: AbortSignal, work: (hashing: Hashing) => Promise<T>): Promise<T>;
  /** Whether a hash has the configured cost; otherwise it is made anew when its password is next seen. */
  abstract isCurrent(hash: string): boolean;
}

/** What an admitted work may ask for, one at a time. */
export interface Hashing {
  /** A hash of the configured cost. */
  hash(password: string): Promise<string>;
  /** `hash` null: there is no such account; the same work is done for nothing, and the answer is no. */
  matches(password: string, hash: string | null): Promise<boolean>;
}
