import { DOT, readJavaPattern } from '../document/java-pattern.js';
import type { Pattern, PatternPiece } from '../document/pattern.js';

/** What is known of the names that a pattern of anybody's file matches. */
export type ForeignLanguage =
  { kind: 'any' } | { kind: 'regular'; pattern: Pattern } | { kind: 'opaque' } | { kind: 'refused' };

/** Absent: any name. */
export function languageOf(text: string | undefined): ForeignLanguage {
  if (text === undefined) return { kind: 'any' };
  if (!/[\\^$.?*+()[\]{}]/.test(text)) {
    const options = text.split('|').map((name): PatternPiece[] => [{ kind: 'literal', text: name }]);
    return { kind: 'regular', pattern: { options, isFinite: true } };
  }
  const reading = readJavaPattern(text);
  if (reading.kind === 'refused') return reading;
  return reading.pattern === null ? { kind: 'opaque' } : { kind: 'regular', pattern: reading.pattern };
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
  if (text === undefined || NEVER_ANY.has(field) || !text.includes('.')) return text;
  const language = languageOf(text);
  return language.kind === 'regular' && language.pattern.options.some(isAny) ? undefined : text;
}

const NEVER_ANY: ReadonlySet<string> = new Set(['queryOwner', 'group', 'original_group']);

function isAny(option: readonly PatternPiece[]): boolean {
  const [piece, ...more] = option;
  if (piece === undefined || more.length > 0) return false;
  if (piece.kind === 'choice') return piece.options.some(isAny);
  return (
    piece.kind === 'rest' ||
    (piece.kind === 'repeated' &&
      piece.piece.kind === 'set' &&
      piece.piece.units === DOT &&
      piece.min <= 1 &&
      piece.max === Infinity)
  );
}
