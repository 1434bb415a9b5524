/**
 * Turns passwords into hashes and compares them, off the event loop. All of it is slow on purpose (some 250 ms) and waits
 * its turn.
 */
export abstract class PasswordHasher {
  /**
   * Runs the work of a request that needs hashes if there is a place for it: one for each hashing thread, and a bounded
   * number that wait. Places and turns are shared fairly between addresses (FairTurns).
   * @throws Refused `busy` when no place is left for the address, or when `signal` is aborted because the client has gone.
   */
  abstract admit<T>(address: string, signal: AbortSignal, work: (hashing: Hashing) => Promise<T>): Promise<T>;
  /** Whether a hash has the configured cost; otherwise it is made anew when its password is next seen. */
  abstract isCurrent(hash: string): boolean;
}

/** The operations of admitted work, one at a time. */
export interface Hashing {
  /** A hash of the configured cost. */
  hash(password: string): Promise<string>;
  /** `hash` null: there is no such account; the same work is done, and the answer is false. */
  matches(password: string, hash: string | null): Promise<boolean>;
}
