import type { CharSet } from 'refa';
import { codePoints } from './characters.js';

/**
 * One piece of a pattern. `rest` is `.*`, and `repeated` with `min` 0 and `max` 1 is `?`.
 * @typeParam Assertion assertions, which exist only while a Java pattern is read
 */
export type PatternPiece<Assertion = never> =
  | { kind: 'literal'; text: string }
  | { kind: 'set'; characters: CharSet }
  | { kind: 'repeated'; piece: PatternPiece<Assertion>; min: number; max: number }
  | { kind: 'choice'; options: PatternPiece<Assertion>[][] }
  | { kind: 'rest' }
  | Assertion;

/** An assertion about the rest of the name: `(?=…)`, `(?!…)` or `$`. */
export type LookAhead =
  | { kind: 'ahead'; isNegative: boolean; options: JavaPiece[][] }
  /** `$`: the end of the name, or the place before a line break that ends the name. */
  | { kind: 'end' };

export type JavaPiece = PatternPiece<LookAhead>;

/** A pattern that matches whole strings. Each option is a sequence of pieces. */
export interface Pattern {
  options: PatternPiece[][];
}

/** Whether a piece may be absent: `a?`. */
export function isOptional(piece: PatternPiece): piece is PatternPiece & { kind: 'repeated' } {
  return piece.kind === 'repeated' && piece.min === 0 && piece.max === 1;
}

export type PatternReading =
  | { kind: 'pattern'; pattern: Pattern }
  | { kind: 'refused'; reason: string; /** UTF-16 offset in the text. */ offset: number };

class SubsetError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message);
  }
}

const SYNTAX_CHARACTERS = '\\^$.|?*+()[]{}';
const RANGE_CHARACTERS = [/^[a-z]$/, /^[A-Z]$/, /^[0-9]$/];

/**
 * Reads a pattern in the common subset of Java's and JavaScript's regular expressions: literals, escaped syntax characters, classes and
 * ranges of ASCII characters, `a?`, `(a|b)`, `.*`. Anything else is refused with its position.
 */
export function readPattern(text: string): PatternReading {
  try {
    if (text === '') throw new SubsetError('it is empty', 0);
    const reader = new PatternReader(text);
    const options = reader.readOptions(0);
    if (reader.offset < text.length) throw new SubsetError('a closing bracket without an opening one', reader.offset);
    if (options.some((option) => option.length === 0)) throw new SubsetError('an alternative is empty', 0);
    return { kind: 'pattern', pattern: { options } };
  } catch (error) {
    if (error instanceof SubsetError) return { kind: 'refused', reason: error.message, offset: error.offset };
    throw error;
  }
}

const MAX_GROUP_DEPTH = 200;

class PatternReader {
  offset = 0;

  constructor(private readonly text: string) {}

  readOptions(groupDepth: number): PatternPiece[][] {
    if (groupDepth > MAX_GROUP_DEPTH) throw new SubsetError('it is nested too deeply', this.offset);
    const options = [this.readSequence(groupDepth)];
    while (this.text[this.offset] === '|') {
      this.offset++;
      options.push(this.readSequence(groupDepth));
    }
    return options;
  }

  private readSequence(groupDepth: number): PatternPiece[] {
    const pieces: PatternPiece[] = [];
    for (;;) {
      const piece = this.readPiece(groupDepth);
      if (piece === null) return pieces;
      const lastPiece = pieces.at(-1);
      if (this.text[this.offset] === '?' && piece.kind !== 'rest') {
        if (piece.kind === 'literal' && piece.text > '\u007f') {
          throw new SubsetError('only an ASCII character may be optional', this.offset);
        }
        this.offset++;
        pieces.push({ kind: 'repeated', piece, min: 0, max: 1 });
      } else if (piece.kind === 'literal' && lastPiece?.kind === 'literal') {
        lastPiece.text += piece.text;
      } else {
        pieces.push(piece);
      }
    }
  }

  private readPiece(groupDepth: number): PatternPiece | null {
    const start = this.offset;
    const character = this.text[start];
    if (character === undefined || character === '|' || character === ')') return null;
    this.offset++;
    if (!SYNTAX_CHARACTERS.includes(character)) return { kind: 'literal', text: character };
    switch (character) {
      case '\\':
        return this.readEscaped(start);
      case '[':
        return this.readClass(start);
      case '(':
        return this.readGroup(groupDepth, start);
      case '.':
        if (this.text[this.offset] !== '*') throw new SubsetError('a dot stands for any character; write [.]', start);
        this.offset++;
        return { kind: 'rest' };
      default:
        throw new SubsetError(`${character} is outside the common subset`, start);
    }
  }

  private readEscaped(start: number): PatternPiece {
    const character = this.text[this.offset];
    if (character === undefined || !SYNTAX_CHARACTERS.includes(character)) {
      throw new SubsetError('a backslash may only stand before a sign of syntax', start);
    }
    this.offset++;
    return { kind: 'literal', text: character };
  }

  private readGroup(groupDepth: number, start: number): PatternPiece {
    const options = this.readOptions(groupDepth + 1);
    if (this.text[this.offset] !== ')') throw new SubsetError('a group is not closed', start);
    this.offset++;
    return { kind: 'choice', options };
  }

  private readClass(start: number): PatternPiece {
    const end = this.text.indexOf(']', this.offset);
    if (end < 0) throw new SubsetError('a class is not closed', start);
    const classText = this.text.slice(this.offset, end);
    this.offset = end + 1;
    if (classText === '') throw new SubsetError('a class is empty', start);
    const ranges: [number, number][] = [];
    for (let i = 0; i < classText.length; i++) {
      const character = classText.charAt(i);
      if (classText[i + 1] === '-') {
        ranges.push(characterRange(character, classText.charAt(i + 2), start));
        i += 2;
      } else if (/^[!-~ ]$/.test(character) && !'\\^[]&-'.includes(character)) {
        ranges.push([character.charCodeAt(0), character.charCodeAt(0)]);
      } else {
        throw new SubsetError(`${character} in a class is read differently by Java and JavaScript`, start);
      }
    }
    return { kind: 'set', characters: codePoints(...ranges) };
  }
}

function characterRange(from: string, to: string, offset: number): [number, number] {
  if (!RANGE_CHARACTERS.some((kind) => kind.test(from) && kind.test(to)) || from > to) {
    throw new SubsetError(`the range ${from}-${to} is not one of plain letters or digits`, offset);
  }
  return [from.charCodeAt(0), to.charCodeAt(0)];
}
