import { languageOf } from '../check/foreign-language.js';
import type { ForeignRule } from '../check/foreign-rules.js';
import { literal } from '../../trino-rules/compile/name-pattern.js';
import { readJavaPattern } from '../java/java-pattern.js';
import { newUserPattern, replacementPieces } from '../java/replacement.js';
import type { ImpersonationRule } from '../../trino-rules/document/rules-document.js';
import { type Audiences, isJudged, notJudged, userPattern } from './audiences.js';

export interface ImpersonationReading {
  rules: ImpersonationRule[];
  /** Why it cannot be evaluated, so that it gives nothing to whomever it may be about; null: it can. */
  problem: { at: number; message: string } | null;
}

/**
 * A rule about who impersonates whom. `new_user` is a replacement text before it is a pattern (Trino 483): `$1` is what the
 * first group of `original_user` matched, so that such a rule is one for each listed user.
 */
export function impersonationRules(rule: ForeignRule, audiences: Audiences): ImpersonationReading {
  const { user, isJudged: isAudienceJudged } = audiences.audience(rule);
  if (user === null) return { rules: [], problem: null };
  const { text, at } = rule.patterns.get('new_user') ?? { text: '.*', at: rule.at };
  const allow = rule.gives.includes('true');
  const about = user === undefined || !isJudged(user) ? {} : { original_user: user };
  const closed: ImpersonationRule[] = [{ ...about, new_user: '.*', allow: false }];
  const caller = userPattern(rule);
  if (caller !== undefined && !isAudienceJudged)
    return { rules: closed, problem: { at: caller.at, message: notJudged('original_user', caller.text) } };
  const same = newUserPattern(text, rule.patterns.has('original_user'));
  if (same !== null && isRegular(same)) return { rules: [{ ...about, new_user: same, allow }], problem: null };
  const names = audiences.namesOf(rule);
  const each = names?.map((name) => ({ name, replaced: replacement(rule, name, text) }));
  if (same === null && each?.every(({ replaced }) => replaced !== null && isRegular(replaced))) {
    const rules = each.map(({ name, replaced }) => ({ original_user: literal(name), new_user: replaced ?? '', allow }));
    return { rules, problem: null };
  }
  const message = `the names that the new_user ${JSON.stringify(text)} stands for cannot be told${names === null && text.includes('$') ? ' without a list of users' : ''}`;
  return { rules: closed, problem: { at, message } };
}

/** As `java.util.regex.Matcher` replaces; null: it fails, or what the groups match is not known. */
function replacement(rule: ForeignRule, name: string, text: string): string | null {
  const matched = matchOf(userPattern(rule)?.text ?? '(?:.*)', name);
  if (matched === null) return null;
  const pieces = replacementPieces(text, matched.length - 1);
  const texts = pieces?.map((piece) => {
    if ('text' in piece) return piece.text;
    if (typeof piece.group === 'number') return matched[piece.group] ?? '';
    const named = matched.groups ?? {};
    return Object.hasOwn(named, piece.group) ? (named[piece.group] ?? '') : null;
  });
  return texts === undefined || texts.includes(null) ? null : texts.join('');
}

/** Null: the pattern could take long, has what Java reads otherwise than JavaScript, or does not match. */
function matchOf(pattern: string, name: string): RegExpExecArray | null {
  const isSlow = /\)[*+?{]/.test(pattern) || pattern.replace(/[^*+{]/g, '').length > MAX_REPETITIONS;
  const reading = readJavaPattern(pattern);
  const isAlike = reading.kind === 'read' && reading.pattern !== null && reading.differences.length === 0;
  // The dot of JavaScript runs over U+0085, and its white space is Unicode's.
  const isPlain = !name.includes('\u0085') && (/^[\0-\x7f]*$/.test(name) || !/\\s/i.test(pattern));
  if (isSlow || !isAlike || !isPlain) return null;
  try {
    return new RegExp(`^(?:${pattern})$`, /[\ud800-\udfff]/.test(pattern + name) ? 'u' : '').exec(name);
  } catch {
    return null;
  }
}

function isRegular(text: string): boolean {
  return ['any', 'regular'].includes(languageOf(text).kind);
}

/** Steps grow with the length of a name to this power. */
const MAX_REPETITIONS = 4;
