const MAX_EDIT_DISTANCE = 2;

/** A name that no setting has, and the setting that it resembles. */
export interface MisspeltName {
  name: string;
  resembles: string;
}

/**
 * Names of the environment that differ from a setting's name by at most two edits. Other unknown names are left out, because the
 * environment also has the variables of other programs.
 */
export function misspeltNames(environmentNames: readonly string[], settingNames: readonly string[]): MisspeltName[] {
  const knownNames = new Set(settingNames);
  return environmentNames
    .filter((name) => name.includes('_') && !knownNames.has(name))
    .flatMap((name) => {
      const resembles = settingNames.find((setting) => setting.includes('_') && isClose(name, setting));
      return resembles === undefined ? [] : [{ name, resembles }];
    });
}

/** Whether the edit distance (Levenshtein) is at most `MAX_EDIT_DISTANCE`. */
function isClose(text: string, other: string): boolean {
  if (Math.abs(text.length - other.length) > MAX_EDIT_DISTANCE) return false;
  let distances = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const character of text) {
    let diagonal = distances[0] ?? 0;
    const nextRow = [diagonal + 1];
    for (let i = 1; i <= other.length; i++) {
      const above = distances[i] ?? 0;
      nextRow.push(Math.min(above + 1, (nextRow[i - 1] ?? 0) + 1, diagonal + (character === other[i - 1] ? 0 : 1)));
      diagonal = above;
    }
    distances = nextRow;
  }
  return (distances[other.length] ?? 0) <= MAX_EDIT_DISTANCE;
}
