/** Why `text` cannot be a description; null: it can, or there is none. */
export function descriptionProblem(text: unknown): string | null {
  if (text === undefined || text === null) return null;
  if (typeof text !== 'string') return 'must be a string';
  if (Array.from(text).length > 1000) return 'must have at most 1000 characters';
  // PostgreSQL cannot store NUL, and UTF-8 has no unpaired surrogates.
  return /[\0\p{Cs}]/u.test(text) ? 'must not contain NUL or an unpaired surrogate' : null;
}
