import { CharSet } from 'refa';
import { readCharacterClass } from './java-character-class.js';
import { readEscape } from './java-escape.js';
import { JavaPatternRefused, PatternSource, type PatternDifference } from './java-pattern-source.js';
import type { Pattern, PatternPiece } from './pattern.js';

export type JavaPatternReading =
  | {
      kind: 'read';
      /** Null: it needs look-around, back-references or the like, so its language is not judged here. */
      pattern: Pattern | null;
      /** How many capturing groups it has. */
      groups: number;
      /** Constructs that JavaScript's regular expressions refuse or read differently. */
      differences: readonly PatternDifference[];
    }
  | { kind: 'refused'; reason: string; /** UTF-16 offset in the text. */ at: number };

/**
 * Reads a whole-string pattern as java.util.regex does (JDK 25: `Pattern.compile` without flags), and refuses what it refuses.
 * The stack's tests compare the verdicts with the engine's own.
 */
export function readJavaPattern(text: string): JavaPatternReading {
  const source = new PatternSource(text);
  try {
    const reader = new JavaPatternReader(source);
    const options = reader.alternatives(0, { ignoresCase: false, hasComments: false });
    if (!source.isAtEnd) throw new JavaPatternRefused('a closing parenthesis without an opening one', source.at);
    const pattern = source.isOpaque ? null : { options, isFinite: !options.some((option) => option.some(isEndless)) };
    return { kind: 'read', pattern, groups: source.groups, differences: source.differences };
  } catch (error) {
    if (error instanceof JavaPatternRefused) return { kind: 'refused', reason: error.message, at: error.at };
    throw error;
  }
}

interface Flags {
  ignoresCase: boolean;
  hasComments: boolean;
}

const MAX_DEPTH = 200;
/** Java's dot, without DOTALL. */
export const DOT = CharSet.fromCharacters(0xffff, [0x0a, 0x0d, 0x85, 0x2028, 0x2029]).negate();
const EMPTY: PatternPiece = { kind: 'choice', options: [[]] };

class JavaPatternReader {
  constructor(private readonly source: PatternSource) {}

  alternatives(depth: number, flags: Flags): PatternPiece[][] {
    if (depth > MAX_DEPTH) throw new JavaPatternRefused('it is nested too deeply', this.source.at);
    // Inline flags hold to the end of the group, later alternatives included.
    const own = { ...flags };
    const options = [this.sequence(depth, own)];
    while (this.source.take('|')) options.push(this.sequence(depth, own));
    return options;
  }

  private sequence(depth: number, flags: Flags): PatternPiece[] {
    const { source } = this;
    const pieces: PatternPiece[] = [];
    for (;;) {
      source.hasComments = flags.hasComments;
      const sign = source.peek();
      if (sign === '' || sign === '|' || sign === ')') return pieces;
      if (sign === '^' && pieces.length === 0 && depth === 0) {
        source.at++;
        if (this.isQuantified()) source.isOpaque = true;
        this.quantified(EMPTY);
        continue;
      }
      const piece = this.atom(sign, depth, flags);
      if (piece === null) continue;
      source.hasComments = flags.hasComments;
      const whole = this.quantified(piece);
      const last = pieces.at(-1);
      if (whole.kind === 'literal' && last?.kind === 'literal') last.text += whole.text;
      else pieces.push(whole);
    }
  }

  /** Null: inline flags, which cannot be repeated. */
  private atom(sign: string, depth: number, flags: Flags): PatternPiece | null {
    const { source } = this;
    const start = source.at;
    switch (sign) {
      case '*':
      case '+':
      case '?':
        throw new JavaPatternRefused(`${sign} stands where there is nothing to repeat`, start);
      case '{':
        // A count without anything before it repeats the empty text.
        return EMPTY;
      case '(':
        return this.group(depth, flags);
      case '[':
        return source.set(readCharacterClass(source, flags.ignoresCase));
      case '.':
        source.at++;
        return { kind: 'set', units: DOT };
      case '^':
      case '$':
        source.at++;
        if (sign === '^' || depth > 0 || !['', '|'].includes(source.peek())) source.isOpaque = true;
        return EMPTY;
      case '\\':
        return this.escaped(flags);
      default:
        return source.literal(source.next(), flags.ignoresCase);
    }
  }

  private escaped(flags: Flags): PatternPiece {
    const { source } = this;
    const escape = readEscape(source, false);
    if (escape.kind === 'character') return source.literal(escape.character, flags.ignoresCase);
    if (escape.kind === 'set') return { kind: 'set', units: escape.units };
    source.isOpaque = true;
    return EMPTY;
  }

  private group(depth: number, flags: Flags): PatternPiece | null {
    const { source } = this;
    const start = source.at++;
    if (!source.take('?')) {
      source.addGroup(null);
      return this.rest(start, depth, flags);
    }
    if (source.take(':')) return this.rest(start, depth, flags);
    for (const look of ['=', '!', '<=', '<!', '>']) {
      if (!source.take(look)) continue;
      if (look === '>') source.differs('refused-by-javascript', '(?>…)');
      source.isOpaque = true;
      return this.rest(start, depth, flags);
    }
    if (source.take('<')) {
      source.addGroup(source.groupName());
      return this.rest(start, depth, flags);
    }
    return this.flags(start, depth, flags);
  }

  private rest(start: number, depth: number, flags: Flags): PatternPiece {
    const options = this.alternatives(depth + 1, flags);
    if (!this.source.take(')')) throw new JavaPatternRefused('a group is not closed', start);
    return { kind: 'choice', options };
  }

  /** `(?i)`, to the end of the group, or `(?i:…)`. */
  private flags(start: number, depth: number, flags: Flags): PatternPiece | null {
    const { source } = this;
    const written = source.match(/[a-zA-Z-]*/y);
    const [on = '', off = '', ...more] = written.split('-');
    const isKnown = /^[idmsuxU]*$/.test(on + off) && more.length === 0;
    const end = source.next();
    if (!isKnown || (end !== ')' && end !== ':')) {
      throw new JavaPatternRefused(`(?${written}${end} is no group that Java knows`, start);
    }
    source.differs('refused-by-javascript', `(?${written}${end}`);
    if (/[sxuU]/.test(on)) source.isOpaque = true;
    const isOn = (flag: string, before: boolean): boolean => (before || on.includes(flag)) && !off.includes(flag);
    const given = { ignoresCase: isOn('i', flags.ignoresCase), hasComments: isOn('x', flags.hasComments) };
    if (end === ':') return this.rest(start, depth, given);
    Object.assign(flags, given);
    return null;
  }

  private isQuantified(): boolean {
    return ['*', '+', '?', '{'].includes(this.source.peek());
  }

  private quantified(piece: PatternPiece): PatternPiece {
    const { source } = this;
    if (!this.isQuantified()) return piece;
    const sign = source.next();
    const [min, max] =
      sign === '*' ? [0, Infinity] : sign === '+' ? [1, Infinity] : sign === '?' ? [0, 1] : this.count();
    if (source.take('+')) {
      source.differs('refused-by-javascript', `${sign}+`);
      source.isOpaque = true;
    } else source.take('?');
    if (piece.kind === 'set' && piece.units === DOT && min === 0 && max === Infinity) return { kind: 'rest' };
    if (piece === EMPTY) return EMPTY;
    return min === 0 && max === 1 ? { kind: 'optional', piece } : { kind: 'repeated', piece, min, max };
  }

  /** Behind `{`. */
  private count(): [number, number] {
    const { source } = this;
    const start = source.at - 1;
    const least = source.match(/[0-9]+/y);
    if (least === '') throw new JavaPatternRefused('{ begins a count, such as {2,3}; a brace itself is [{]', start);
    let most: string | null = least;
    if (source.take(',')) {
      most = source.match(/[0-9]+/y);
      if (most === '' && source.peek() !== '}') throw new JavaPatternRefused('a count is not two numbers', start);
    }
    if (!source.take('}')) throw new JavaPatternRefused('a count is not closed', start);
    const [min, max] = [Number(least), most === '' ? Infinity : Number(most)];
    if (min > MAX_COUNT || (max !== Infinity && max > MAX_COUNT) || max < min) {
      throw new JavaPatternRefused('a count is out of range', start);
    }
    return [min, max];
  }
}

const MAX_COUNT = 2 ** 31 - 1;

function isEndless(piece: PatternPiece): boolean {
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
