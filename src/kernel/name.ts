/**
 * The problem of a name; null: none. Control, format (direction marks, joiners), surrogate, private and unassigned characters and line
 * ends are invisible, and Java's `.` does not match line ends.
 */
export function nameProblem(name: string): string | null {
  if (name === '' || Array.from(name).length > 128) return 'must have 1 to 128 characters';
  return /[\p{C}\p{Zl}\p{Zp}]/u.test(name) ? 'must not hold control, format or unassigned characters' : null;
}

/** The problem of a name on the engine or of a group; null: none. */
export function principalNameProblem(name: unknown): string | null {
  if (typeof name !== 'string') return name === undefined ? 'is required' : 'must be a string';
  return nameProblem(name);
}

/** The engine reads header fields as ISO 8859-1, without any decoding. */
export function isHeaderText(text: string): boolean {
  return /^[\x20-\x7e\xa0-\xff]+$/.test(text) && text.trim() === text;
}

/** Warning about a user or engine principal whose name no header can carry. Rules can name it. */
export function headerNameWarning(name: string): string | null {
  return isHeaderText(name) ? null : `No SQL can be run as ${name}: ${BEYOND_HEADERS}.`;
}

export const BEYOND_HEADERS = 'requests to the engine carry names in letters of ISO 8859-1 (Latin-1) alone';

/** A name in lower case (only ASCII letters, as in the database's indexes). One principal holds all names with the same folded name. */
export function foldedName(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The problem of a name of a catalog, schema, table or column; null: none. */
export function resourceNameProblem(name: string): string | null {
  return nameProblem(name) ?? (name === name.toLowerCase() ? null : 'must be lower-case, as the engine has it');
}

/** The problem of a session property that users may set; null: none. */
export function sessionPropertyProblem(name: string): string | null {
  const isMarker = name.startsWith('grantline_rules_');
  return isMarker ? 'is reserved: it would be the marker of a version of the rules' : nameProblem(name);
}

/** `ana, ben and 398 more` */
export function firstNames(names: readonly (string | number)[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
