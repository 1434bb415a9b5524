import { DOT } from './java-characters.js';
import type { Repetition } from './java-extent.js';
import { JavaPatternRefused, type PatternSource } from './java-pattern-source.js';
import type { JavaPiece, PatternPiece } from './pattern.js';

/** The empty text, and whatever a pattern that is not judged has here. */
export const NOTHING = { kind: 'choice', options: [[]] } satisfies PatternPiece;

/**
 * What repeats the piece before it; null: nothing does.
 * @throws JavaPatternRefused
 */
export function readRepetition(source: PatternSource): Repetition | null {
  const sign = source.peek();
  const range = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1], '{': null }[sign];
  if (range === undefined) return null;
  const [min = 0, max = 0] = range ?? readCount(source);
  const mark = range === null ? source.peek() : source.next();
  if (mark === '?' || mark === '+') source.at++;
  if (mark !== '+') return { min, max, mode: mark === '?' ? 'lazy' : 'greedy' };
  source.differs('refused-by-javascript', `${sign}+`);
  source.isOpaque = true;
  return { min, max, mode: 'possessive' };
}

/** From `{` on, the brace that closes it included. */
function readCount(source: PatternSource): [number, number] {
  const start = source.at;
  let code = source.skip();
  const number = (): string => {
    let digits = '';
    for (; code >= 0x30 && code <= 0x39; code = source.read()) digits += String.fromCodePoint(code);
    return digits;
  };
  const least = number();
  if (least === '') throw new JavaPatternRefused('{ begins a count, such as {2,3}; a brace itself is [{]', start);
  let most = least;
  if (code === 0x2c) {
    code = source.read();
    most = code === 0x7d ? 'endless' : number();
  }
  if (code !== 0x7d) throw new JavaPatternRefused('a count is not closed', start);
  const [min, max] = [Number(least), most === 'endless' ? Infinity : Number(most)];
  if (min > MAX_COUNT || (max !== Infinity && max > MAX_COUNT) || max < min)
    throw new JavaPatternRefused('a count is out of range', start);
  return [min, max];
}

const MAX_COUNT = 2 ** 31 - 1;

export function repeated(piece: JavaPiece, { min, max }: Repetition): JavaPiece {
  if (piece === NOTHING) return NOTHING;
  if (piece.kind === 'set' && piece.characters === DOT && min === 0 && max === Infinity) return { kind: 'rest' };
  return min === 0 && max === 1 ? { kind: 'optional', piece } : { kind: 'repeated', piece, min, max };
}

export function isEndless(piece: PatternPiece): boolean {
  switch (piece.kind) {
    case 'rest':
      return true;
    case 'repeated':
      return piece.max === Infinity || isEndless(piece.piece);
    case 'optional':
      return isEndless(piece.piece);
    case 'choice':
      return piece.options.some((option) => option.some(isEndless));
    case 'literal':
    case 'class':
    case 'set':
      return false;
  }
}
