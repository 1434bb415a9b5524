import type { CharSet } from 'refa';
import { codePoints } from './characters.js';

/**
 * One piece of a pattern. `rest` is `.*`; an optional piece is repeated from 0 to 1 times. Other repetitions are outside the common
 * subset; only `readJavaPattern` makes them.
 * @typeParam Assertion further pieces while a pattern is read
 */
export type PatternPiece<Assertion = never> =
  | { kind: 'literal'; text: string }
  | { kind: 'set'; characters: CharSet }
  | { kind: 'repeated'; piece: PatternPiece<Assertion>; min: number; max: number }
  | { kind: 'choice'; options: PatternPiece<Assertion>[][] }
  | { kind: 'rest' }
  | Assertion;

/** An assertion about the rest of the name. */
export type LookAhead =
  | { kind: 'ahead'; isNegative: boolean; options: JavaPiece[][] }
  /** `$`: the end of the name, or of its last line. */
  | { kind: 'end' };

export type JavaPiece = PatternPiece<LookAhead>;

/** A pattern of whole strings: alternatives, each a sequence of pieces. */
export interface Pattern {
  options: PatternPiece[][];
}

/** `a?` */
export function isOptional(piece: PatternPiece): piece is PatternPiece & { kind: 'repeated' } {
  return piece.kind === 'repeated' && piece.min === 0 && piece.max === 1;
}

export type PatternReading =
  | { kind: 'pattern'; pattern: Pattern }
  | { kind: 'refused'; reason: string; /** UTF-16 offset in the text. */ at: number };

class OutsideSubset extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

const SYNTAX = '\\^$.|?*+()[]{}';
const RANGE_KINDS = [/^[a-z]$/, /^[A-Z]$/, /^[0-9]$/];

/**
 * Reads a pattern in the common subset of Java's and JavaScript's regular expressions: literals, escaped signs of syntax, classes and
 * ranges of ASCII characters, `a?`, `(a|b)`, `.*`. All else is refused with its place.
 */
export function readPattern(text: string): PatternReading {
  try {
    if (text === '') throw new OutsideSubset('it is empty', 0);
    const reader = new PatternReader(text);
    const options = reader.options(0);
    if (reader.at < text.length) throw new OutsideSubset('a closing bracket without an opening one', reader.at);
    if (options.some((option) => option.length === 0)) throw new OutsideSubset('an alternative is empty', 0);
    return { kind: 'pattern', pattern: { options } };
  } catch (error) {
    if (error instanceof OutsideSubset) return { kind: 'refused', reason: error.message, at: error.at };
    throw error;
  }
}

const MAX_DEPTH = 200;

class PatternReader {
  at = 0;

  constructor(private readonly text: string) {}

  options(depth: number): PatternPiece[][] {
    if (depth > MAX_DEPTH) throw new OutsideSubset('it is nested too deeply', this.at);
    const options = [this.sequence(depth)];
    while (this.text[this.at] === '|') {
      this.at++;
      options.push(this.sequence(depth));
    }
    return options;
  }

  private sequence(depth: number): PatternPiece[] {
    const pieces: PatternPiece[] = [];
    for (;;) {
      const piece = this.piece(depth);
      if (piece === null) return pieces;
      const last = pieces.at(-1);
      if (this.text[this.at] === '?' && piece.kind !== 'rest') {
        if (piece.kind === 'literal' && piece.text > '\u007f') {
          throw new OutsideSubset('only an ASCII character may be optional', this.at);
        }
        this.at++;
        pieces.push({ kind: 'repeated', piece, min: 0, max: 1 });
      } else if (piece.kind === 'literal' && last?.kind === 'literal') {
        last.text += piece.text;
      } else {
        pieces.push(piece);
      }
    }
  }

  private piece(depth: number): PatternPiece | null {
    const start = this.at;
    const sign = this.text[start];
    if (sign === undefined || sign === '|' || sign === ')') return null;
    this.at++;
    if (!SYNTAX.includes(sign)) return { kind: 'literal', text: sign };
    switch (sign) {
      case '\\':
        return this.escaped(start);
      case '[':
        return this.class(start);
      case '(':
        return this.group(depth, start);
      case '.':
        if (this.text[this.at] !== '*') throw new OutsideSubset('a dot stands for any character; write [.]', start);
        this.at++;
        return { kind: 'rest' };
      default:
        throw new OutsideSubset(`${sign} is outside the common subset`, start);
    }
  }

  private escaped(start: number): PatternPiece {
    const sign = this.text[this.at];
    if (sign === undefined || !SYNTAX.includes(sign)) {
      throw new OutsideSubset('a backslash may only stand before a sign of syntax', start);
    }
    this.at++;
    return { kind: 'literal', text: sign };
  }

  private group(depth: number, start: number): PatternPiece {
    const options = this.options(depth + 1);
    if (this.text[this.at] !== ')') throw new OutsideSubset('a group is not closed', start);
    this.at++;
    return { kind: 'choice', options };
  }

  private class(start: number): PatternPiece {
    const end = this.text.indexOf(']', this.at);
    if (end < 0) throw new OutsideSubset('a class is not closed', start);
    const inside = this.text.slice(this.at, end);
    this.at = end + 1;
    if (inside === '') throw new OutsideSubset('a class is empty', start);
    const ranges: [number, number][] = [];
    for (let i = 0; i < inside.length; i++) {
      const from = inside.charAt(i);
      if (inside[i + 1] === '-') {
        ranges.push(range(from, inside.charAt(i + 2), start));
        i += 2;
      } else if (/^[!-~ ]$/.test(from) && !'\\^[]&-'.includes(from)) {
        ranges.push([from.charCodeAt(0), from.charCodeAt(0)]);
      } else {
        throw new OutsideSubset(`${from} in a class is read differently by Java and JavaScript`, start);
      }
    }
    return { kind: 'set', characters: codePoints(...ranges) };
  }
}

function range(from: string, to: string, at: number): [number, number] {
  if (!RANGE_KINDS.some((kind) => kind.test(from) && kind.test(to)) || from > to) {
    throw new OutsideSubset(`the range ${from}-${to} is not one of plain letters or digits`, at);
  }
  return [from.charCodeAt(0), to.charCodeAt(0)];
}
