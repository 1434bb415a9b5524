/** Why `text` cannot be a description; null when it can, and when there is none. */
export function descriptionProblem(text: unknown): string | null {
  if (text === undefined || text === null) return null;
  if (typeof text !== 'string') return 'must be a string';
  if (Array.from(text).length > 1000) return 'must have at most 1000 characters';
  // PostgreSQL cannot store NUL, and no encoding has half a surrogate pair.
  return /[\0\p{Cs}]/u.test(text) ? 'must not hold NUL or half a character' : null;
}
