import { DOT } from '../../trino-rules/document/characters.js';
import { readJavaPattern } from '../java/java-pattern.js';
import type { Pattern, PatternPiece } from '../../trino-rules/document/pattern.js';
import { matches } from '../../trino-rules/document/pattern-meaning.js';

/** The names that a pattern of any rules file matches, as far as they are known. */
export type ForeignLanguage =
  | { kind: 'any' }
  | { kind: 'regular'; pattern: Pattern }
  | { kind: 'opaque' }
  | { kind: 'refused' };

/** Absent: any name. */
export function languageOf(text: string | undefined): ForeignLanguage {
  if (text === undefined) return { kind: 'any' };
  if (!/[\\^$.?*+()[\]{}]/.test(text)) {
    const options = text.split('|').map((name): PatternPiece[] => [{ kind: 'literal', text: name }]);
    return { kind: 'regular', pattern: { options } };
  }
  const known = lookingAround.get(text);
  if (known !== undefined) return known;
  const reading = readJavaPattern(text);
  const pattern = reading.kind === 'read' ? reading.pattern : null;
  const language: ForeignLanguage =
    reading.kind === 'refused' ? reading : pattern === null ? { kind: 'opaque' } : { kind: 'regular', pattern };
  if (text.includes('(?') && lookingAround.size < MOST_KEPT) lookingAround.set(text, language);
  return language;
}

/** Kept, because patterns that may look around take a thousand times as long to read as others, and a file repeats the same few. */
const lookingAround = new Map<string, ForeignLanguage>();
const MOST_KEPT = 1_000;

/** Whether the names that a pattern matches are known; absent: any name. */
export function isRegular(text: string | undefined): boolean {
  return ['any', 'regular'].includes(languageOf(text).kind);
}

/** The pattern of a text. @throws RangeError for a text that cannot be judged */
export function regularPattern(text: string): Pattern {
  const language = languageOf(text);
  if (language.kind !== 'regular') throw new RangeError('a pattern that is not judged as a language');
  return language.pattern;
}

/**
 * Limit of the names that a pattern is expanded to: enough for all that its text spells out. `[^a]` or `[a-z]{3}` is better judged
 * as a language than name by name.
 */
export function maxListedNames(text: string): number {
  return text.length + MOST_UNSPELLED;
}

const MOST_UNSPELLED = 500;

/**
 * A pattern's text, or undefined if it matches any name (names are never empty and have no line breaks). Exceptions: a rule for any
 * group does not match users without a group, and one about any owner is not about executing queries.
 */
export function anyName(field: string, text: string | undefined): string | undefined {
  if (text === undefined || NEVER_ANY.has(field) || !/[.\\]|\[\^/.test(text)) return text;
  const language = languageOf(text);
  return language.kind === 'regular' && language.pattern.options.some(isAny) ? undefined : text;
}

const NEVER_ANY: ReadonlySet<string> = new Set(['queryOwner', 'group', 'original_group']);

/** Whether an alternative matches any name: `.*`, `.+`, `.*.+`, `[^\\n]*x?`. At most one piece needs a character, and may be any. */
function isAny(option: readonly PatternPiece[]): boolean {
  const others = option.filter((piece) => !isAnyText(piece));
  const needed = option.filter((piece) => isAnyText(piece) && !mayBeEmpty(piece)).length;
  return others.length < option.length && needed <= 1 && others.every(mayBeEmpty);
}

function isAnyText(piece: PatternPiece): boolean {
  if (piece.kind === 'rest') return true;
  if (piece.kind === 'choice') return piece.options.some(isAny);
  if (piece.kind !== 'repeated' || piece.min > 1) return false;
  return piece.max === Infinity && piece.piece.kind === 'set'
    ? piece.piece.characters.isSupersetOf(DOT)
    : piece.max >= 1 && isAnyText(piece.piece);
}

function mayBeEmpty(piece: PatternPiece): boolean {
  return matches({ options: [[piece]] }, '');
}
