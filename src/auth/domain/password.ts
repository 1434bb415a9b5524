/**
 * NIST SP 800-63B 3.1.1.2: 8 to 128 code points as received; normalised to NFC (RFC 8265, OpaqueString) where they are hashed. NUL is refused because
 * bcrypt repeats its key: P and P NUL P have one hash. Lone surrogates are refused because they have no UTF-8.
 * @returns what is wrong, or null.
 */
export function passwordProblem(text: string): string | null {
  const characterProblem = passwordCharacterProblem(text);
  if (characterProblem !== null) return characterProblem;
  // Code points, not UTF-16 units: an emoji counts as one.
  const { length } = Array.from(text);
  return length < 8 || length > 128 ? 'must be 8 to 128 characters long' : null;
}

/** The problem of characters that no stored password can have; checked of presented passwords as well. */
export function passwordCharacterProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not hold the character NUL';
  if (/\p{Surrogate}/u.test(text)) return 'must be valid Unicode, without lone surrogates';
  return null;
}
