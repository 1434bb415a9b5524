import { foldedName, nameProblem } from '../../kernel/name.js';

/** Of accounts that register: 3 to 64 of letters, digits and underscore, ASCII only. @returns what is wrong, or null. */
export function usernameProblem(text: string): string | null {
  if (text.length < 3 || text.length > 64) return 'must be 3 to 64 characters long';
  // `$` would let a final newline pass in some languages; in JavaScript it does not (no flag m).
  if (!/^[a-zA-Z0-9_]+$/.test(text)) return 'must consist of letters, digits and underscores';
  return null;
}

/** How identity providers name the accounts of clients. */
const OF_SERVICE_ACCOUNTS = 'service-account-';

/**
 * The problem of the name of an account that does not register: a user name as the engine sees it, such as an e-mail address. Names that
 * look alike are kept apart: by one normalization form, and without invisible characters. Null: nothing.
 */
export function accountNameProblem(text: string): string | null {
  const problem = nameProblem(text);
  if (problem !== null) return problem;
  if (text !== text.trim()) return 'must not begin or end with a blank';
  if (text !== text.normalize('NFC')) return 'must be in Unicode normalization form NFC';
  return isServiceAccountName(text) ? `must not begin with ${OF_SERVICE_ACCOUNTS}, as service accounts do` : null;
}

function isServiceAccountName(name: string): boolean {
  return foldedName(name).startsWith(OF_SERVICE_ACCOUNTS);
}

/**
 * Equal for names of accounts that differ in case only, letters beyond ASCII included. By upper case first: `ß` and `SS` are one.
 * Stored with the name, because the database folds ASCII alone (docs/decisions/0007).
 */
export function accountKey(name: string): string {
  return name.toUpperCase().toLowerCase().normalize('NFC');
}
