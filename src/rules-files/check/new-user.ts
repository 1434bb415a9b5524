import type { ForeignPattern } from './foreign-rules.js';
import type { Report } from './placed-finding.js';

/**
 * `new_user` is a replacement text before it is a pattern (java.util.regex.Matcher, seen on Trino 483): `$1` is a group of
 * `original_user`, any other `$` fails when the rule is reached, and a backslash is eaten.
 * @param groups how many `original_user` captures; null: there is none, and the engine takes the text as it is
 */
export function checkNewUser({ text, at }: ForeignPattern, groups: number | null, report: Report): void {
  const unsafe = (message: string): void => report('rules-new-user-unsafe', message, at);
  if (groups === null) {
    if (/\$[0-9]/.test(text))
      unsafe('"new_user" refers to a group, and without "original_user" nothing takes its place');
    return;
  }
  for (const [piece, group] of text.matchAll(/\\[^]|\$([0-9])?/g)) {
    if (piece.startsWith('\\')) {
      if (piece === '\\\\') continue;
      unsafe(`"new_user" is a replacement text first, which eats the backslash of ${piece}; write a class such as [.]`);
      return;
    }
    if (group === undefined) {
      unsafe(
        '"new_user" is a replacement text first, in which $ needs the number of a group: every check that reaches this rule fails',
      );
      return;
    }
    if (Number(group) > groups) {
      unsafe(
        `"new_user" refers to group ${group}, and "original_user" captures ${groups}: every check that reaches this rule fails`,
      );
      return;
    }
  }
}
