/**
 * Why `name` cannot be a name that the engine and people compare: control, format (direction marks, joiners), surrogate, private and
 * unassigned characters and line ends are invisible, and Java's `.` stops at line ends. Null: it can.
 */
export function nameProblem(name: string): string | null {
  if (name === '' || Array.from(name).length > 128) return 'must have 1 to 128 characters';
  return /[\p{C}\p{Zl}\p{Zp}]/u.test(name) ? 'must not hold control, format or unassigned characters' : null;
}

/** Why `name` cannot be a catalog, schema, table or column; null when it can. The engine knows such names in lower case only. */
export function resourceNameProblem(name: string): string | null {
  return nameProblem(name) ?? (name === name.toLowerCase() ? null : 'must be lower-case, as the engine has it');
}

/** Why people cannot be allowed to set a session property of this name; null: they can. */
export function sessionPropertyProblem(name: string): string | null {
  const isMarker = name.startsWith('grantline_rules_');
  return isMarker ? 'is reserved: it would be the marker of a version of the rules' : nameProblem(name);
}
