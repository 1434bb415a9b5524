/**
 * Source document 2.1 and NIST SP 800-63B 3.1.1.2: 8 to 128 code points, taken exactly as received. NUL is refused because
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
