/**
 * Turns passwords into hashes and compares them, off the event loop. Everything here is slow on purpose (some 250 ms) and
 * waits its turn.
 * @throws Refused `busy` when too many wait already, or when `signal` says that nobody waits for the answer any more.
 */
export abstract class PasswordHasher {
  /**
   * Asked before anything else is done for a request that will need a hash: a storm costs little, and who is turned away has
   * not used up a try.
   */
  abstract requireRoom(): void;
  /** A hash of the configured cost. */
  abstract hash(password: string, signal: AbortSignal): Promise<string>;
  /** `hash` null: there is no such account; the same work is done for nothing, and the answer is no. */
  abstract matches(password: string, hash: string | null, signal: AbortSignal): Promise<boolean>;
  /** Whether a hash has the configured cost; otherwise it is made anew when its password is next seen. */
  abstract isCurrent(hash: string): boolean;
}
