import { readJavaPattern } from './java-pattern.js';

/** A piece of a replacement text: plain text, or a reference to a group by its number or name. */
export type ReplacementPiece = { text: string } | { group: string | number };

/**
 * Reads `new_user` as `java.util.regex.Matcher.appendReplacement` does: a backslash makes the next character a plain one, `$1` and
 * `${name}` are what groups of `original_user` matched.
 * @param groups number of groups: with fewer than 12, `$12` is group 1 and a `2`
 * @returns null if Java refuses the text; names of groups are not checked
 */
export function replacementPieces(text: string, groups: number): ReplacementPiece[] | null {
  const pieces: ReplacementPiece[] = [];
  for (let at = 0; at < text.length;) {
    const [piece = '', escaped, name, digits] =
      /\\([^])|\$\{([a-zA-Z][a-zA-Z0-9]*)\}|\$([0-9]+)|[^\\$]+/y.exec(text.slice(at)) ?? [];
    if (piece === '') return null;
    if (escaped !== undefined) pieces.push({ text: escaped });
    else if (name !== undefined) pieces.push({ group: name });
    else if (digits === undefined) pieces.push({ text: piece });
    else {
      let taken = 1;
      while (taken < digits.length && Number(digits.slice(0, taken + 1)) <= groups) taken++;
      const group = Number(digits.slice(0, taken));
      if (group > groups) return null;
      pieces.push({ group });
      at += 1 + taken;
      continue;
    }
    at += piece.length;
  }
  return pieces;
}

/**
 * The pattern that names are matched with; null: it depends on the user, or every check that reaches the rule fails.
 * @param isReplaced the rule has an `original_user`; without one the engine takes `new_user` as it is (Trino 483)
 */
export function newUserPattern(text: string, isReplaced: boolean): string | null {
  if (!isReplaced || !/[\\$]/.test(text)) return text;
  const pieces = replacementPieces(text, Infinity);
  if (pieces === null || pieces.some((piece) => 'group' in piece)) return null;
  const replaced = pieces.map((piece) => ('text' in piece ? piece.text : '')).join('');
  return readJavaPattern(replaced).kind === 'read' ? replaced : null;
}
