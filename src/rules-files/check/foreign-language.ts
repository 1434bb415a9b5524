import { DOT } from '../../trino-rules/document/characters.js';
import { readJavaPattern } from '../java/java-pattern.js';
import type { Pattern, PatternPiece } from '../../trino-rules/document/pattern.js';
import { matches } from '../../trino-rules/document/pattern-meaning.js';

/** The names that a pattern of anybody's file matches, as far as they are known. */
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

/** Patterns that may look around, which take a thousand times as long as others: the same few of a file are asked about over and over. */
const lookingAround = new Map<string, ForeignLanguage>();
const MOST_KEPT = 1_000;

/** Whether the names that a pattern matches are known; absent: any name. */
export function isRegular(text: string | undefined): boolean {
  return ['any', 'regular'].includes(languageOf(text).kind);
}

/** For patterns that are judged. @throws RangeError for others */
export function regularPattern(text: string): Pattern {
  const language = languageOf(text);
  if (language.kind !== 'regular') throw new RangeError('a pattern that is not judged as a language');
  return language.pattern;
}

/**
 * How many names a pattern of anybody's file may list: as many as it spells out, whereas `[^a]` or `[a-z]{3}` is better judged as
 * a language than name by name.
 */
export function maxListedNames(text: string): number {
  return text.length + MOST_UNSPELLED;
}

const MOST_UNSPELLED = 500;

/**
 * A pattern's text, or undefined where it matches any name: none is empty or breaks a line. The exceptions: a rule for any group
 * matches no user without a group, and one about any owner is not about running queries.
 */
export function anyName(field: string, text: string | undefined): string | undefined {
  if (text === undefined || NEVER_ANY.has(field) || !/[.\\]|\[\^/.test(text)) return text;
  const language = languageOf(text);
  return language.kind === 'regular' && language.pattern.options.some(isAny) ? undefined : text;
}

const NEVER_ANY: ReadonlySet<string> = new Set(['queryOwner', 'group', 'original_group']);

/** `.*`, `.+`, `(a|.*)`, `.*.+`, `[^\\n]*x?`: pieces that match any text, of which one needs a character, beside pieces that need none. */
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
