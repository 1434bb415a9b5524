/**
 * NIST SP 800-63B 3.1.1.2: 8 to 128 code points as received; normalised to NFC (RFC 8265, OpaqueString) where they are hashed. NUL is refused because
 * bcrypt repeats its key: P and P NUL P have one hash. Lone surrogates are refused because they have no UTF-8.
 * @returns what is wrong, or null.
 */
export function passwordProblem(text: string): string | null {
  const characterProblem = passwordCharacterProblem(text);
  if (characterProblem !== null) return characterProblem;
  const length = codePoints(text);
  return length < 8 || length > 128 ? 'must be 8 to 128 characters long' : null;
}

/** Characters that no stored password can have; checked for presented ones too. */
export function passwordCharacterProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not hold the character NUL';
  if (/\p{Surrogate}/u.test(text)) return 'must be valid Unicode, without lone surrogates';
  return null;
}

/** Code points, not UTF-16 units: an emoji counts as one (most are one; a sequence joined to one picture is several). */
function codePoints(text: string): number {
  let count = 0;
  for (const character of text) count += character.length === 0 ? 0 : 1;
  return count;
}

/**
 * Turns passwords into hashes and compares them, off the event loop. All of it is slow on purpose (some 250 ms) and waits
 * its turn.
 */
export abstract class PasswordHasher {
  /**
   * Runs the work of a request that needs hashes if there is a place for it: one for each hashing thread, and a bounded
   * number that wait. Places and turns are shared fairly between addresses (FairQueue).
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
