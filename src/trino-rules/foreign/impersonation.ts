import type { ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { literal } from '../compile/name-pattern.js';
import type { ImpersonationRule } from '../document/rules-document.js';
import { type Audiences, isJudged, type ListedUsers, userPattern } from './audiences.js';

export interface ImpersonationRules {
  rules: ImpersonationRule[];
  /** Rules whose `new_user` cannot be told. */
  problems: { rule: string; at: number; message: string }[];
}

/**
 * The rules about who impersonates whom. `new_user` is a replacement text before it is a pattern (Trino 483): `$1` is what the
 * first group of `original_user` matched, so that such a rule is one for each listed user.
 */
export function impersonationRules(
  rules: ForeignRules,
  audiences: Audiences,
  listed: ListedUsers | null,
): ImpersonationRules {
  const found = rules.get('impersonation');
  // Beside "principals" the engine takes impersonation to be decided there.
  if (found === undefined)
    return { rules: rules.has('principals') ? [{ new_user: '.*', allow: true }] : [], problems: [] };
  const problems: ImpersonationRules['problems'] = [];
  const read = found.flatMap((rule): ImpersonationRule[] => {
    const { user } = audiences.audience(rule);
    const { text, at } = rule.patterns.get('new_user') ?? { text: '.*', at: rule.at };
    if (user === null) return [];
    const allow = rule.gives.includes('true');
    if (!/[\\$]/.test(text) && isJudged(text))
      return [{ ...(user !== undefined && { original_user: user }), new_user: text, allow }];
    const each = listed?.namesOf(rule).map((name) => ({ name, replaced: replacement(rule, name, text) }));
    if (each?.every(({ replaced }) => replaced !== null && isJudged(replaced)))
      return each.map(({ name, replaced }) => ({ original_user: literal(name), new_user: replaced ?? '', allow }));
    const message = `the names that the new_user ${JSON.stringify(text)} stands for cannot be told${listed === null && text.includes('$') ? ' without a list of users' : ''}`;
    problems.push({ rule: rule.place, at, message });
    return [];
  });
  return { rules: read, problems };
}

/** As `java.util.regex.Matcher` replaces; null: it fails, or a number of two digits leaves open which group is meant. */
function replacement(rule: ForeignRule, name: string, text: string): string | null {
  const groups = matchOf(userPattern(rule)?.text ?? '(?:.*)', name);
  if (groups === null) return null;
  const pieces = [...text.matchAll(/\\([^])|\$(\d\d?)?|\\$|[^\\$]+/g)].map(([piece, escaped, group]) => {
    if (escaped !== undefined) return escaped;
    if (group === undefined) return /^[\\$]/.test(piece) ? undefined : piece;
    return group.length === 1 ? groups[Number(group)] : undefined;
  });
  return pieces.includes(undefined) ? null : pieces.join('');
}

/** Null: the pattern could take long, is one that only Java reads, or does not match. */
function matchOf(pattern: string, name: string): RegExpExecArray | null {
  const isSlow = /\)[*+?{]/.test(pattern) || pattern.replace(/[^*+{]/g, '').length > MAX_REPETITIONS;
  try {
    return isSlow ? null : new RegExp(`^(?:${pattern})$`).exec(name);
  } catch {
    return null;
  }
}

/** Steps grow with the length of a name to this power. */
const MAX_REPETITIONS = 4;
