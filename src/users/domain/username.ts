/** Source document 2.1: 3 to 64 of letters, digits and underscore, ASCII only. @returns what is wrong, or null. */
export function usernameProblem(text: string): string | null {
  if (text.length < 3 || text.length > 64) return 'must be 3 to 64 characters long';
  // `$` would let a final newline pass in some languages; in JavaScript it does not (no flag m).
  if (!/^[a-zA-Z0-9_]+$/.test(text)) return 'must consist of letters, digits and underscores';
  return null;
}
