import { readJavaPattern } from './java-pattern.js';

/** A piece of a replacement text: plain text, or a reference to a capturing group by its number or name. */
export type ReplacementPiece = { text: string } | { group: string | number };

/**
 * Reads `new_user` as `java.util.regex.Matcher.appendReplacement` does: a backslash makes the next character a plain one, `$1` and
 * `${name}` are the texts of capturing groups of `original_user`.
 * @param groupCount number of capturing groups in `original_user`: with fewer than 12, `$12` is group 1 and a `2`
 * @returns null if Java refuses the text; names of groups are not checked
 */
export function replacementPieces(text: string, groupCount: number): ReplacementPiece[] | null {
  const pieces: ReplacementPiece[] = [];
  for (let offset = 0; offset < text.length;) {
    const [piece = '', escaped, name, digits] =
      /\\([^])|\$\{([a-zA-Z][a-zA-Z0-9]*)\}|\$([0-9]+)|[^\\$]+/y.exec(text.slice(offset)) ?? [];
    if (piece === '') return null;
    if (escaped !== undefined) pieces.push({ text: escaped });
    else if (name !== undefined) pieces.push({ group: name });
    else if (digits === undefined) pieces.push({ text: piece });
    else {
      let digitCount = 1;
      while (digitCount < digits.length && Number(digits.slice(0, digitCount + 1)) <= groupCount) digitCount++;
      const group = Number(digits.slice(0, digitCount));
      if (group > groupCount) return null;
      pieces.push({ group });
      offset += 1 + digitCount;
      continue;
    }
    offset += piece.length;
  }
  return pieces;
}

/**
 * The pattern of names that a rule's `new_user` matches; null: the pattern depends on the user's name, or the engine fails at this rule.
 * @param hasOriginalUser the rule has an `original_user`; without one the engine takes `new_user` as it is (Trino 483)
 */
export function newUserPattern(text: string, hasOriginalUser: boolean): string | null {
  if (!hasOriginalUser || !/[\\$]/.test(text)) return text;
  const pieces = replacementPieces(text, Infinity);
  if (pieces === null || pieces.some((piece) => 'group' in piece)) return null;
  const pattern = pieces.map((piece) => ('text' in piece ? piece.text : '')).join('');
  return readJavaPattern(pattern).kind === 'read' ? pattern : null;
}
