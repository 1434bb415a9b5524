import { DOT } from '../../trino-rules/document/characters.js';
import { type JavaPatternReading, readJavaPattern } from '../java/java-pattern.js';
import type { Pattern, PatternPiece } from '../../trino-rules/document/pattern.js';
import { matches } from '../../trino-rules/document/pattern-meaning.js';

/** The names that a pattern of any rules file matches, as far as they are known. */
export type ForeignLanguage =
  | { kind: 'any' }
  | { kind: 'regular'; pattern: Pattern }
  | { kind: 'opaque' }
  | { kind: 'refused' };

/** The names that a pattern matches; undefined: any name. */
export function languageOf(text: string | undefined): ForeignLanguage {
  if (text === undefined) return { kind: 'any' };
  if (!/[\\^$.?*+()[\]{}]/.test(text)) {
    const options = text.split('|').map((name): PatternPiece[] => [{ kind: 'literal', text: name }]);
    return { kind: 'regular', pattern: { options } };
  }
  const reading = readingOf(text);
  if (reading.kind === 'refused') return reading;
  const pattern = reading.kind === 'read' ? reading.pattern : null;
  return pattern === null ? { kind: 'opaque' } : { kind: 'regular', pattern };
}

/** `readJavaPattern`, with a cache of patterns with `(?`: a look-ahead takes a thousand times as long, and a file repeats the same few. */
export function readingOf(text: string): JavaPatternReading {
  const reading = lookAheadCache.get(text) ?? readJavaPattern(text);
  if (text.includes('(?') && lookAheadCache.size < MAX_CACHED_PATTERNS) lookAheadCache.set(text, reading);
  return reading;
}

const lookAheadCache = new Map<string, JavaPatternReading>();
const MAX_CACHED_PATTERNS = 1_000;

/** Whether it is known which names a pattern matches. An absent pattern matches any name. */
export function isRegular(text: string | undefined): boolean {
  return ['any', 'regular'].includes(languageOf(text).kind);
}

/** Parses a pattern. @throws RangeError for a text that cannot be judged */
export function parseRegular(text: string): Pattern {
  const language = languageOf(text);
  if (language.kind !== 'regular') throw new RangeError('a pattern that is not judged as a language');
  return language.pattern;
}

/** The most names that are listed for a pattern. The limit grows with the text, so that a list such as `ana|ben` never exceeds it. */
export function maxListedNames(text: string): number {
  return text.length + MAX_EXTRA_NAMES;
}

const MAX_EXTRA_NAMES = 500;

/** The text of a pattern; undefined if the pattern excludes nothing. For example, `.*` for groups excludes users without a group. */
export function selectivePattern(field: string, text: string | undefined): string | undefined {
  if (text === undefined || FIELDS_NEEDING_VALUE.has(field) || !/[.\\]|\[\^/.test(text)) return text;
  const language = languageOf(text);
  return language.kind === 'regular' && language.pattern.options.some(matchesAnyName) ? undefined : text;
}

const FIELDS_NEEDING_VALUE: ReadonlySet<string> = new Set(['queryOwner', 'group', 'original_group']);

/** Whether an alternative matches any name: `.*`, `.+`, `.*.+`, `[^\\n]*x?`. Not `.+.+`, because a name can have a single character. */
function matchesAnyName(option: readonly PatternPiece[]): boolean {
  const otherPieces = option.filter((piece) => !matchesAnyText(piece));
  const requiredCount = option.filter((piece) => matchesAnyText(piece) && !mayBeEmpty(piece)).length;
  return otherPieces.length < option.length && requiredCount <= 1 && otherPieces.every(mayBeEmpty);
}

function matchesAnyText(piece: PatternPiece): boolean {
  if (piece.kind === 'rest') return true;
  if (piece.kind === 'choice') return piece.options.some(matchesAnyName);
  if (piece.kind !== 'repeated' || piece.min > 1) return false;
  return piece.max === Infinity && piece.piece.kind === 'set'
    ? piece.piece.characters.isSupersetOf(DOT)
    : piece.max >= 1 && matchesAnyText(piece.piece);
}

function mayBeEmpty(piece: PatternPiece): boolean {
  return matches({ options: [[piece]] }, '');
}
