/** The problem of an invalid name, else null. Line ends are invalid because `.` in a Java pattern does not match them. */
export function nameProblem(name: string): string | null {
  if (name === '' || Array.from(name).length > 128) return 'must have 1 to 128 characters';
  return /[\p{C}\p{Zl}\p{Zp}]/u.test(name) ? 'must not hold control, format or unassigned characters' : null;
}

/** The problem of an invalid name of a user, an engine principal or a group, else null. */
export function principalNameProblem(name: unknown): string | null {
  if (typeof name !== 'string') return name === undefined ? 'is required' : 'must be a string';
  return nameProblem(name);
}

/** Whether an HTTP header can carry a text to the engine, which reads headers as ISO 8859-1. */
export function isHeaderText(text: string): boolean {
  return /^[\x20-\x7e\xa0-\xff]+$/.test(text) && text.trim() === text;
}

/** Warning about a user or engine principal whose name no HTTP header can carry, although rules can name it. */
export function headerNameWarning(name: string): string | null {
  return isHeaderText(name) ? null : `No SQL can be run as ${name}: ${HEADER_LIMIT_REASON}.`;
}

export const HEADER_LIMIT_REASON = 'requests to the engine carry names in letters of ISO 8859-1 (Latin-1) alone';

/** A name with ASCII letters in lower case, as the database's indexes fold it. Names with the same folded name belong to one principal. */
export function foldedName(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export function resourceNameProblem(name: string): string | null {
  return nameProblem(name) ?? (name === name.toLowerCase() ? null : 'must be lower-case, as the engine has it');
}

/** The problem of a session property that users must not be allowed to set, else null. */
export function sessionPropertyProblem(name: string): string | null {
  const isMarker = name.startsWith('grantline_rules_');
  return isMarker ? 'is reserved: it would be the marker of a version of the rules' : nameProblem(name);
}

/** The first names as a text: `ana, ben and 398 more`. */
export function namesText(names: readonly (string | number)[], maxShown: number): string {
  const hiddenCount = names.length - maxShown;
  return names.slice(0, maxShown).join(', ') + (hiddenCount > 0 ? ` and ${hiddenCount} more` : '');
}
