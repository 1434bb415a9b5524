import { CharSet } from 'refa';
import { codePoints, DOT, LAST_CODE_POINT } from '../../trino-rules/document/characters.js';
import type { JavaPiece, Pattern } from '../../trino-rules/document/pattern.js';
import {
  ASCII_PROPERTIES,
  withBothCases,
  CONTROLS,
  isSurrogate,
  NotJudged,
  PREDEFINED,
  Refused,
  type Token,
  tokensOf,
} from './tokens.js';
import { withoutLookAhead } from './look-ahead.js';

/** A construct that JavaScript's regular expressions refuse or read differently. */
export interface PatternDifference {
  kind: 'refused-by-javascript' | 'read-differently';
  /** The construct as it is written. */
  construct: string;
}

export type JavaPatternReading =
  | {
      kind: 'read';
      /** Null: the automaton of its look-aheads outgrows the budget. */
      readonly pattern: Pattern | null;
      /** How many capturing groups it has. */
      groups: number;
      differences: readonly PatternDifference[];
    }
  /** An unsupported construct, which Java may accept or refuse. */
  | { kind: 'not-judged'; construct: string; /** In characters. */ at: number }
  | { kind: 'refused'; reason: string; /** In characters. */ at: number };

/**
 * Reads a whole-string pattern as java.util.regex does (JDK 25: `Pattern.compile` without flags): literals, classes, groups, counts,
 * anchors, look-ahead, `(?i)`, `(?s)`, quotations and the ASCII properties. Other constructs are not judged.
 * `test/stack/java-patterns.stack-spec.ts` compares verdicts and matches with Java's own.
 */
export function readJavaPattern(text: string): JavaPatternReading {
  try {
    const reader = new JavaPatternReader(text);
    const options = reader.wholePattern();
    const { groups, differences } = reader;
    let pattern: Pattern | null | undefined;
    return {
      kind: 'read',
      // Computed on demand: a look-ahead becomes an automaton, which callers that only want the verdict do not need.
      get pattern() {
        return (pattern ??= withoutLookAhead(options));
      },
      groups,
      differences,
    };
  } catch (error) {
    if (error instanceof Refused) return { kind: 'refused', reason: error.message, at: error.at };
    if (error instanceof NotJudged) return { kind: 'not-judged', construct: error.message, at: error.at };
    throw error;
  }
}

interface Flags {
  ignoresCase: boolean;
  dotAll: boolean;
}

/** The stack of Java ends at about 1,000 groups. */
const MAX_DEPTH = 200;
const MAX_COUNT = 2 ** 31 - 1;
const NOTHING: JavaPiece = { kind: 'choice', options: [[]] };

class JavaPatternReader {
  groups = 0;
  readonly differences: PatternDifference[] = [];
  private readonly names = new Set<string>();
  private readonly tokens: readonly Token[];
  private next = 0;
  private flags: Flags = { ignoresCase: false, dotAll: false };
  /** Number of ^ that were read. */
  private carets = 0;

  constructor(text: string) {
    this.tokens = tokensOf(text);
    if (/(?<!\\)(?:\\\\)*\\Q/.test(text)) this.noteDifference('read-differently', '\\Q…\\E');
  }

  wholePattern(): JavaPiece[][] {
    const options = this.alternatives(0, true);
    if (this.sign === ')') this.refuse('a closing parenthesis without an opening one');
    return options;
  }

  private get token(): Token {
    const token = this.tokens[this.next];
    if (token === undefined) throw new Error('read beyond the end');
    return token;
  }

  private isAtEnd(): boolean {
    return this.token.kind === 'end';
  }

  /** The next character where it may be syntax; empty otherwise. */
  private get sign(): string {
    return this.token.kind === 'sign' ? this.token.character : '';
  }

  private take(): Token {
    const { token } = this;
    if (token.kind !== 'end') this.next++;
    return token;
  }

  private takeIf(sign: string): boolean {
    if (this.sign !== sign) return false;
    this.next++;
    return true;
  }

  private refuse(reason: string, at = this.token.at): never {
    throw new Refused(reason, at);
  }

  private notJudged(construct: string, at: number): never {
    throw new NotJudged(construct, at);
  }

  private noteDifference(kind: PatternDifference['kind'], construct: string): void {
    if (!this.differences.some((each) => each.construct === construct)) this.differences.push({ kind, construct });
  }

  /** @param isAtStart whether it is the first in the whole pattern */
  private alternatives(depth: number, isAtStart: boolean): JavaPiece[][] {
    if (depth > MAX_DEPTH) this.notJudged('deep nesting', this.token.at);
    const options = [this.sequence(depth, isAtStart)];
    while (this.takeIf('|')) options.push(this.sequence(depth, isAtStart));
    return options;
  }

  private sequence(depth: number, isAtStart: boolean): JavaPiece[] {
    const pieces: JavaPiece[] = [];
    for (;;) {
      if (this.isAtEnd() || this.sign === '|' || this.sign === ')') return pieces;
      const isFirst = isAtStart && pieces.length === 0;
      const carets = this.carets;
      const piece = this.sign === '(' ? this.group(depth, isFirst) : this.atom(depth, isFirst);
      if (piece === null) continue;
      const whole = this.withRepetition(piece, this.carets > carets);
      if (whole === NOTHING) continue;
      const last = pieces.at(-1);
      if (whole.kind === 'literal' && last?.kind === 'literal') last.text += whole.text;
      else pieces.push(whole);
    }
  }

  private atom(depth: number, isFirst: boolean): JavaPiece {
    const { sign } = this;
    if (['*', '+', '?'].includes(sign)) return this.refuse(`${sign} stands where there is nothing to repeat`);
    // A count without anything before it repeats the empty text.
    if (sign === '{') return NOTHING;
    if (sign === '[') return { kind: 'set', characters: this.class() };
    if (sign === '^' || sign === '$') return this.anchor(sign, depth, isFirst);
    if (this.takeIf('.')) return { kind: 'set', characters: this.flags.dotAll ? CharSet.all(LAST_CODE_POINT) : DOT };
    if (this.token.kind !== 'escape') return this.literal(this.take().character);
    const escaped = this.escapeSequence();
    return typeof escaped === 'string' ? this.literal(escaped) : { kind: 'set', characters: escaped };
  }

  private anchor(sign: string, depth: number, isFirst: boolean): JavaPiece {
    const { at } = this.take();
    if (sign === '^') {
      this.carets++;
      return isFirst ? NOTHING : this.notJudged('^ behind the start', at);
    }
    return depth === 0 && (this.isAtEnd() || this.sign === '|') ? NOTHING : { kind: 'end' };
  }

  private literal(text: string): JavaPiece {
    const code = text.codePointAt(0) ?? 0;
    const characters = this.withCase(codePoints([code, code]));
    return characters.size === 1 ? { kind: 'literal', text } : { kind: 'set', characters };
  }

  private withCase(characters: CharSet): CharSet {
    return this.flags.ignoresCase ? withBothCases(characters) : characters;
  }

  /** One escape sequence: its character, or its set. */
  private escapeSequence(): string | CharSet {
    const { character: letter, at } = this.take();
    if (letter === '') return this.refuse('a backslash stands at the end', at);
    const known = CONTROLS[letter] ?? PREDEFINED[letter];
    if (known !== undefined) return known;
    if (letter === 'x' || letter === 'u') return this.hexadecimal(letter, at);
    if (letter === 'p' || letter === 'P') return this.property(letter, at);
    if (letter === 'k') this.reference(at);
    if (!/^[A-Za-z0-9]$/.test(letter)) return letter;
    if (/^[0-9acehvABGHNRVXZbz]$/.test(letter)) this.notJudged(`\\${letter}`, at);
    return this.refuse(`\\${letter} is no escape sequence`, at);
  }

  private hexadecimal(letter: 'x' | 'u', at: number): string {
    if (letter === 'x' && this.sign === '{') this.notJudged('\\x{…}', at);
    const length = letter === 'x' ? 2 : 4;
    let digits = '';
    while (digits.length < length && /^[0-9a-fA-F]$/.test(this.sign)) digits += this.take().character;
    if (digits.length < length) this.refuse(`\\${letter} needs ${length} hexadecimal digits`, at);
    const code = parseInt(digits, 16);
    return isSurrogate(code) ? this.notJudged(`\\u${digits}`, at) : String.fromCodePoint(code);
  }

  /** Behind `\p`: one letter, or a name in braces. */
  private property(letter: string, at: number): CharSet {
    this.noteDifference('read-differently', `\\${letter}`);
    if (this.isAtEnd()) this.refuse('a property needs a name', at);
    let name = this.take().character;
    if (name === '{') {
      for (name = ''; this.sign !== '}'; name += this.take().character)
        if (this.isAtEnd()) this.refuse('the name of a property is not closed by }', at);
      this.next++;
    }
    const property = ASCII_PROPERTIES.get(name);
    if (property === undefined) return this.notJudged(`\\${letter}{${name}}`, at);
    const characters = name === 'Lower' || name === 'Upper' ? this.withCase(property) : property;
    return letter === 'P' ? characters.negate() : characters;
  }

  private reference(at: number): never {
    const name = this.takeIf('<') ? this.groupName(at) : this.refuse('\\k needs the name of a group in <>', at);
    if (!this.names.has(name)) this.refuse(`there is no group ${name} for \\k`, at);
    return this.notJudged('\\k', at);
  }

  /** Reads the name of a group and its closing `>`. */
  private groupName(at: number): string {
    let name = '';
    while (/^[a-zA-Z0-9]$/.test(this.sign)) name += this.take().character;
    if (!/^[a-zA-Z]/.test(name)) this.refuse('the name of a group begins with a letter', at);
    if (!this.takeIf('>')) this.refuse('the name of a group is not closed by >', at);
    return name;
  }

  /** Null: inline flags, which cannot be repeated. */
  private group(depth: number, isFirst: boolean): JavaPiece | null {
    const { at } = this.take();
    const { flags } = this;
    let ahead: boolean | null = null;
    if (!this.takeIf('?')) this.groups++;
    else if (this.takeIf('=')) ahead = true;
    else if (this.takeIf('!')) ahead = false;
    else if (this.sign === '>') this.notJudged('(?>…)', at);
    else if (this.takeIf('<')) {
      if (this.sign === '=' || this.sign === '!') this.notJudged(`(?<${this.sign}…)`, at);
      const name = this.groupName(at);
      if (this.names.has(name)) this.refuse(`the group ${name} is already there`, at);
      this.names.add(name);
      this.groups++;
    } else if (!this.takeIf(':') && !this.readFlags(at)) return null;
    const options = this.alternatives(depth + 1, isFirst && ahead === null);
    if (!this.takeIf(')')) this.refuse('a group is not closed', at);
    this.flags = flags;
    if (ahead !== null) return { kind: 'ahead', isNegative: !ahead, options };
    return options.length === 1 && options[0]?.length === 0 ? NOTHING : { kind: 'choice', options };
  }

  /** Reads flags behind `(?`. @returns whether they begin a group, `(?i:…)`; else they hold to the end of the surrounding group */
  private readFlags(at: number): boolean {
    let written = '(?';
    let isOn = true;
    for (; /^[-a-zA-Z]$/.test(this.sign); written += this.take().character) {
      if (this.sign === 'i') this.flags = { ...this.flags, ignoresCase: isOn };
      else if (this.sign === 's') this.flags = { ...this.flags, dotAll: isOn };
      else if (this.sign === '-' && isOn) isOn = false;
      else if ('dmucxU'.includes(this.sign)) this.notJudged(`${written}${this.sign}`, at);
      else this.refuse(`${written}${this.sign} is no group that Java knows`, at);
    }
    const isGroup = this.takeIf(':');
    if (!isGroup && !this.takeIf(')')) this.refuse(`${written}${this.sign} is no group that Java knows`, at);
    this.noteDifference('refused-by-javascript', `${written}${isGroup ? ':' : ')'}`);
    return isGroup;
  }

  private withRepetition(piece: JavaPiece, hasCaret: boolean): JavaPiece {
    const repetition = this.repetition();
    if (repetition === null) return piece;
    const [min, max] = repetition;
    // Only the first repetition begins at the start of the name.
    if (hasCaret && piece !== NOTHING && max > 1) this.notJudged('a repeated ^', this.token.at);
    if (piece === NOTHING) return NOTHING;
    if (piece.kind === 'set' && piece.characters === DOT && min === 0 && max === Infinity) return { kind: 'rest' };
    return { kind: 'repeated', piece, min, max };
  }

  /** Least and greatest count of the piece before; null: it is not repeated. */
  private repetition(): [number, number] | null {
    const { sign } = this;
    const { at } = this.token;
    if (!['*', '+', '?', '{'].includes(sign)) return null;
    this.next++;
    const count: [number, number] = sign === '{' ? this.count(at) : [sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity];
    // Reluctant repetition matches the same whole names.
    if (!this.takeIf('?') && this.sign === '+') this.notJudged(`${sign}+`, at);
    return count;
  }

  /** Reads a count behind `{`, and its closing brace. */
  private count(at: number): [number, number] {
    const number = (): string => {
      let digits = '';
      while (/^[0-9]$/.test(this.sign)) digits += this.take().character;
      return digits;
    };
    const least = number();
    if (least === '') this.refuse('{ begins a count, such as {2,3}; a brace itself is [{]', at);
    const most = !this.takeIf(',') ? least : this.sign === '}' ? 'Infinity' : number();
    if (most === '' || !this.takeIf('}')) this.refuse('a count is not closed', at);
    const [min, max] = [Number(least), Number(most)];
    if (min > MAX_COUNT || (max !== Infinity && max > MAX_COUNT) || max < min)
      this.refuse('a count is out of range', at);
    return [min, max];
  }

  /** Reads a class from `[` to its closing bracket. */
  private class(): CharSet {
    const { at } = this.take();
    const isNegated = this.takeIf('^');
    if (this.sign === ']') this.noteDifference('read-differently', isNegated ? '[^]…]' : '[]…]');
    let characters = CharSet.empty(LAST_CODE_POINT);
    for (let isFirst = true; isFirst || this.sign !== ']'; isFirst = false) {
      if (this.isAtEnd()) this.refuse('a character class is not closed', at);
      characters = characters.union(this.member());
    }
    this.next++;
    return isNegated ? characters.negate() : characters;
  }

  /** A character, a range or the set of an escape sequence. */
  private member(): CharSet {
    const { at } = this.token;
    const from = this.classCharacter();
    if (typeof from !== 'string') return from;
    const behind = this.tokens[this.next + 1];
    const isRange = this.sign === '-' && behind !== undefined && !(behind.kind === 'sign' && behind.character === ']');
    if (!isRange) return this.range(from, from, at);
    this.next++;
    const to = this.classCharacter();
    return typeof to === 'string' ? this.range(from, to, at) : this.refuse(`the range ${from}-\\… is none`, at);
  }

  private classCharacter(): string | CharSet {
    if (this.sign === '[') this.notJudged('[…[…]]', this.token.at);
    const { kind, at, character } = this.token;
    const behind = this.tokens[this.next + 1];
    if (this.sign === '&' && behind?.kind === 'sign' && behind.character === '&') this.notJudged('&&', at);
    if (kind === 'end') this.refuse('a character class is not closed');
    if (kind !== 'escape') return this.take().character;
    if (/^[1-9bBARGXZkz]$/.test(character)) this.refuse(`\\${character} is no escape sequence of a class`, at);
    return this.escapeSequence();
  }

  private range(from: string, to: string, at: number): CharSet {
    const [min, max] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
    if (max < min) this.refuse(`the range ${from}-${to} is none`, at);
    return this.withCase(codePoints([min, max]));
  }
}
