import { CharSet } from 'refa';
import { codePoints, DOT, LAST_CODE_POINT } from '../../trino-rules/document/characters.js';
import type { JavaPiece, Pattern } from '../../trino-rules/document/pattern.js';
import {
  ASCII_PROPERTIES,
  withBothCases,
  CONTROL_CHARACTERS,
  isSurrogate,
  ConstructNotJudged,
  PREDEFINED_SETS,
  PatternRefused,
  type Token,
  tokensOf,
} from './tokens.js';
import { withoutLookAhead } from './look-ahead.js';

/** A construct that JavaScript's regular expressions refuse or read differently. */
export interface PatternDifference {
  kind: 'refused-by-javascript' | 'read-differently';
  construct: string;
}

export type JavaPatternReading =
  | {
      kind: 'read';
      /** A pattern without look-aheads that matches the same names. Null: the look-aheads are too complex for the conversion. */
      readonly pattern: Pattern | null;
      groupCount: number;
      differences: readonly PatternDifference[];
    }
  /** An unsupported construct, which Java may accept or refuse. */
  | { kind: 'not-judged'; construct: string; /** Offset in characters. */ at: number }
  | { kind: 'refused'; reason: string; /** Offset in characters. */ at: number };

/**
 * Reads a whole-string pattern as java.util.regex does (JDK 25: `Pattern.compile` without flags): literals, classes, groups, counts,
 * anchors, look-ahead, `(?i)`, `(?s)`, quotations and the ASCII properties. Other constructs are not judged.
 * `test/stack/java-patterns.stack-spec.ts` compares verdicts and matches with Java's own.
 */
export function readJavaPattern(text: string): JavaPatternReading {
  try {
    const reader = new JavaPatternReader(text);
    const options = reader.readWholePattern();
    const { groupCount, differences } = reader;
    let pattern: Pattern | null | undefined;
    return {
      kind: 'read',
      // Computed on demand: a look-ahead becomes an automaton, which callers that only want the verdict do not need.
      get pattern() {
        return (pattern ??= withoutLookAhead(options));
      },
      groupCount,
      differences,
    };
  } catch (error) {
    if (error instanceof PatternRefused) return { kind: 'refused', reason: error.message, at: error.at };
    if (error instanceof ConstructNotJudged) return { kind: 'not-judged', construct: error.message, at: error.at };
    throw error;
  }
}

interface Flags {
  ignoresCase: boolean;
  dotAll: boolean;
}

/** The greatest depth of nested groups. Java's stack overflows at about 1,000. */
const MAX_DEPTH = 200;
const MAX_REPETITIONS = 2 ** 31 - 1;
const EMPTY_PIECE: JavaPiece = { kind: 'choice', options: [[]] };

class JavaPatternReader {
  groupCount = 0;
  readonly differences: PatternDifference[] = [];
  private readonly groupNames = new Set<string>();
  private readonly tokens: readonly Token[];
  private nextIndex = 0;
  private flags: Flags = { ignoresCase: false, dotAll: false };
  private caretCount = 0;

  constructor(text: string) {
    this.tokens = tokensOf(text);
    if (/(?<!\\)(?:\\\\)*\\Q/.test(text)) this.noteDifference('read-differently', '\\Q…\\E');
  }

  readWholePattern(): JavaPiece[][] {
    const options = this.readAlternatives(0, true);
    if (this.nextSign === ')') this.refuse('a closing parenthesis without an opening one');
    return options;
  }

  private get token(): Token {
    const token = this.tokens[this.nextIndex];
    if (token === undefined) throw new Error('read beyond the end');
    return token;
  }

  private isAtEnd(): boolean {
    return this.token.kind === 'end';
  }

  /** The next character if it may be syntax, neither quoted nor escaped; empty otherwise. */
  private get nextSign(): string {
    return this.token.kind === 'sign' ? this.token.character : '';
  }

  private takeToken(): Token {
    const { token } = this;
    if (token.kind !== 'end') this.nextIndex++;
    return token;
  }

  private takeIf(sign: string): boolean {
    if (this.nextSign !== sign) return false;
    this.nextIndex++;
    return true;
  }

  private refuse(reason: string, at = this.token.at): never {
    throw new PatternRefused(reason, at);
  }

  private throwUnjudged(construct: string, at: number): never {
    throw new ConstructNotJudged(construct, at);
  }

  private noteDifference(kind: PatternDifference['kind'], construct: string): void {
    if (!this.differences.some((each) => each.construct === construct)) this.differences.push({ kind, construct });
  }

  /** @param isAtStart whether the alternatives are the first piece of the whole pattern */
  private readAlternatives(groupDepth: number, isAtStart: boolean): JavaPiece[][] {
    if (groupDepth > MAX_DEPTH) this.throwUnjudged('deep nesting', this.token.at);
    const options = [this.readSequence(groupDepth, isAtStart)];
    while (this.takeIf('|')) options.push(this.readSequence(groupDepth, isAtStart));
    return options;
  }

  private readSequence(groupDepth: number, isAtStart: boolean): JavaPiece[] {
    const pieces: JavaPiece[] = [];
    for (;;) {
      if (this.isAtEnd() || this.nextSign === '|' || this.nextSign === ')') return pieces;
      const isFirst = isAtStart && pieces.length === 0;
      const caretCount = this.caretCount;
      const piece = this.nextSign === '(' ? this.readGroup(groupDepth, isFirst) : this.readAtom(groupDepth, isFirst);
      if (piece === null) continue;
      const repeatedPiece = this.withRepetition(piece, this.caretCount > caretCount);
      if (repeatedPiece === EMPTY_PIECE) continue;
      const lastPiece = pieces.at(-1);
      if (repeatedPiece.kind === 'literal' && lastPiece?.kind === 'literal') lastPiece.text += repeatedPiece.text;
      else pieces.push(repeatedPiece);
    }
  }

  private readAtom(groupDepth: number, isFirst: boolean): JavaPiece {
    const { nextSign: sign } = this;
    if (['*', '+', '?'].includes(sign)) return this.refuse(`${sign} stands where there is nothing to repeat`);
    // A count such as `{2}` with nothing before it repeats the empty text.
    if (sign === '{') return EMPTY_PIECE;
    if (sign === '[') return { kind: 'set', characters: this.readClass() };
    if (sign === '^' || sign === '$') return this.readAnchor(sign, groupDepth, isFirst);
    if (this.takeIf('.')) return { kind: 'set', characters: this.flags.dotAll ? CharSet.all(LAST_CODE_POINT) : DOT };
    if (this.token.kind !== 'escape') return this.literalPiece(this.takeToken().character);
    const escaped = this.readEscape();
    return typeof escaped === 'string' ? this.literalPiece(escaped) : { kind: 'set', characters: escaped };
  }

  private readAnchor(sign: string, groupDepth: number, isFirst: boolean): JavaPiece {
    const { at } = this.takeToken();
    if (sign === '^') {
      this.caretCount++;
      return isFirst ? EMPTY_PIECE : this.throwUnjudged('^ behind the start', at);
    }
    return groupDepth === 0 && (this.isAtEnd() || this.nextSign === '|') ? EMPTY_PIECE : { kind: 'end' };
  }

  private literalPiece(text: string): JavaPiece {
    const codePoint = text.codePointAt(0) ?? 0;
    const characters = this.withCase(codePoints([codePoint, codePoint]));
    return characters.size === 1 ? { kind: 'literal', text } : { kind: 'set', characters };
  }

  private withCase(characters: CharSet): CharSet {
    return this.flags.ignoresCase ? withBothCases(characters) : characters;
  }

  /** Reads one escape sequence. @returns its character, or the set of characters that it matches */
  private readEscape(): string | CharSet {
    const { character: letter, at } = this.takeToken();
    if (letter === '') return this.refuse('a backslash stands at the end', at);
    const predefinedSet = CONTROL_CHARACTERS[letter] ?? PREDEFINED_SETS[letter];
    if (predefinedSet !== undefined) return predefinedSet;
    if (letter === 'x' || letter === 'u') return this.readHexadecimal(letter, at);
    if (letter === 'p' || letter === 'P') return this.readProperty(letter, at);
    if (letter === 'k') this.throwForReference(at);
    if (!/^[A-Za-z0-9]$/.test(letter)) return letter;
    if (/^[0-9acehvABGHNRVXZbz]$/.test(letter)) this.throwUnjudged(`\\${letter}`, at);
    return this.refuse(`\\${letter} is no escape sequence`, at);
  }

  private readHexadecimal(letter: 'x' | 'u', at: number): string {
    if (letter === 'x' && this.nextSign === '{') this.throwUnjudged('\\x{…}', at);
    const digitCount = letter === 'x' ? 2 : 4;
    let digits = '';
    while (digits.length < digitCount && /^[0-9a-fA-F]$/.test(this.nextSign)) digits += this.takeToken().character;
    if (digits.length < digitCount) this.refuse(`\\${letter} needs ${digitCount} hexadecimal digits`, at);
    const codePoint = parseInt(digits, 16);
    return isSurrogate(codePoint) ? this.throwUnjudged(`\\u${digits}`, at) : String.fromCodePoint(codePoint);
  }

  /** The set of a property, which follows `\p`: one letter, or a name in braces. */
  private readProperty(letter: string, at: number): CharSet {
    this.noteDifference('read-differently', `\\${letter}`);
    if (this.isAtEnd()) this.refuse('a property needs a name', at);
    let name = this.takeToken().character;
    if (name === '{') {
      for (name = ''; this.nextSign !== '}'; name += this.takeToken().character)
        if (this.isAtEnd()) this.refuse('the name of a property is not closed by }', at);
      this.nextIndex++;
    }
    const propertySet = ASCII_PROPERTIES.get(name);
    if (propertySet === undefined) return this.throwUnjudged(`\\${letter}{${name}}`, at);
    const characters = name === 'Lower' || name === 'Upper' ? this.withCase(propertySet) : propertySet;
    return letter === 'P' ? characters.negate() : characters;
  }

  private throwForReference(at: number): never {
    const name = this.takeIf('<') ? this.readGroupName(at) : this.refuse('\\k needs the name of a group in <>', at);
    if (!this.groupNames.has(name)) this.refuse(`there is no group ${name} for \\k`, at);
    return this.throwUnjudged('\\k', at);
  }

  private readGroupName(at: number): string {
    let name = '';
    while (/^[a-zA-Z0-9]$/.test(this.nextSign)) name += this.takeToken().character;
    if (!/^[a-zA-Z]/.test(name)) this.refuse('the name of a group begins with a letter', at);
    if (!this.takeIf('>')) this.refuse('the name of a group is not closed by >', at);
    return name;
  }

  /** Reads a group. Null: a group such as `(?i)`, which only sets flags and cannot be repeated. */
  private readGroup(groupDepth: number, isFirst: boolean): JavaPiece | null {
    const { at } = this.takeToken();
    const { flags } = this;
    let isPositiveLookAhead: boolean | null = null;
    if (!this.takeIf('?')) this.groupCount++;
    else if (this.takeIf('=')) isPositiveLookAhead = true;
    else if (this.takeIf('!')) isPositiveLookAhead = false;
    else if (this.nextSign === '>') this.throwUnjudged('(?>…)', at);
    else if (this.takeIf('<')) {
      if (this.nextSign === '=' || this.nextSign === '!') this.throwUnjudged(`(?<${this.nextSign}…)`, at);
      const name = this.readGroupName(at);
      if (this.groupNames.has(name)) this.refuse(`the group ${name} is already there`, at);
      this.groupNames.add(name);
      this.groupCount++;
    } else if (!this.takeIf(':') && !this.readFlags(at)) return null;
    const options = this.readAlternatives(groupDepth + 1, isFirst && isPositiveLookAhead === null);
    if (!this.takeIf(')')) this.refuse('a group is not closed', at);
    this.flags = flags;
    if (isPositiveLookAhead !== null) return { kind: 'ahead', isNegative: !isPositiveLookAhead, options };
    return options.length === 1 && options[0]?.length === 0 ? EMPTY_PIECE : { kind: 'choice', options };
  }

  /** Reads flags after `(?`. @returns whether they begin a group, `(?i:…)`; otherwise they apply up to the end of the surrounding group */
  private readFlags(at: number): boolean {
    let flagsText = '(?';
    let turnsOn = true;
    for (; /^[-a-zA-Z]$/.test(this.nextSign); flagsText += this.takeToken().character) {
      if (this.nextSign === 'i') this.flags = { ...this.flags, ignoresCase: turnsOn };
      else if (this.nextSign === 's') this.flags = { ...this.flags, dotAll: turnsOn };
      else if (this.nextSign === '-' && turnsOn) turnsOn = false;
      else if ('dmucxU'.includes(this.nextSign)) this.throwUnjudged(`${flagsText}${this.nextSign}`, at);
      else this.refuse(`${flagsText}${this.nextSign} is no group that Java knows`, at);
    }
    const beginsGroup = this.takeIf(':');
    if (!beginsGroup && !this.takeIf(')')) this.refuse(`${flagsText}${this.nextSign} is no group that Java knows`, at);
    this.noteDifference('refused-by-javascript', `${flagsText}${beginsGroup ? ':' : ')'}`);
    return beginsGroup;
  }

  private withRepetition(piece: JavaPiece, hasCaret: boolean): JavaPiece {
    const repetition = this.readRepetition();
    if (repetition === null) return piece;
    const [min, max] = repetition;
    // In a repeated group, `^` can match only in the first repetition. The reader cannot express that, so it leaves the pattern unjudged.
    if (hasCaret && piece !== EMPTY_PIECE && max > 1) this.throwUnjudged('a repeated ^', this.token.at);
    if (piece === EMPTY_PIECE) return EMPTY_PIECE;
    if (piece.kind === 'set' && piece.characters === DOT && min === 0 && max === Infinity) return { kind: 'rest' };
    return { kind: 'repeated', piece, min, max };
  }

  /** Least and greatest count of the preceding piece; null: that piece is not repeated. */
  private readRepetition(): [number, number] | null {
    const { nextSign: sign } = this;
    const { at } = this.token;
    if (!['*', '+', '?', '{'].includes(sign)) return null;
    this.nextIndex++;
    const repetitionBounds: [number, number] =
      sign === '{' ? this.readCount(at) : [sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity];
    // A reluctant repetition, such as `*?`, matches the same whole names as a plain one.
    if (!this.takeIf('?') && this.nextSign === '+') this.throwUnjudged(`${sign}+`, at);
    return repetitionBounds;
  }

  private readCount(at: number): [number, number] {
    const readDigits = (): string => {
      let digits = '';
      while (/^[0-9]$/.test(this.nextSign)) digits += this.takeToken().character;
      return digits;
    };
    const minText = readDigits();
    if (minText === '') this.refuse('{ begins a count, such as {2,3}; a brace itself is [{]', at);
    const maxText = !this.takeIf(',') ? minText : this.nextSign === '}' ? 'Infinity' : readDigits();
    if (maxText === '' || !this.takeIf('}')) this.refuse('a count is not closed', at);
    const [min, max] = [Number(minText), Number(maxText)];
    if (min > MAX_REPETITIONS || (max !== Infinity && max > MAX_REPETITIONS) || max < min)
      this.refuse('a count is out of range', at);
    return [min, max];
  }

  private readClass(): CharSet {
    const { at } = this.takeToken();
    const isNegated = this.takeIf('^');
    if (this.nextSign === ']') this.noteDifference('read-differently', isNegated ? '[^]…]' : '[]…]');
    let characters = CharSet.empty(LAST_CODE_POINT);
    for (let isFirst = true; isFirst || this.nextSign !== ']'; isFirst = false) {
      if (this.isAtEnd()) this.refuse('a character class is not closed', at);
      characters = characters.union(this.readMember());
    }
    this.nextIndex++;
    return isNegated ? characters.negate() : characters;
  }

  /** A member of a class: a character, a range, or the set of an escape sequence. */
  private readMember(): CharSet {
    const { at } = this.token;
    const first = this.readClassCharacter();
    if (typeof first !== 'string') return first;
    const following = this.tokens[this.nextIndex + 1];
    const isRange =
      this.nextSign === '-' && following !== undefined && !(following.kind === 'sign' && following.character === ']');
    if (!isRange) return this.range(first, first, at);
    this.nextIndex++;
    const last = this.readClassCharacter();
    return typeof last === 'string' ? this.range(first, last, at) : this.refuse(`the range ${first}-\\… is none`, at);
  }

  private readClassCharacter(): string | CharSet {
    if (this.nextSign === '[') this.throwUnjudged('[…[…]]', this.token.at);
    const { kind, at, character } = this.token;
    const following = this.tokens[this.nextIndex + 1];
    if (this.nextSign === '&' && following?.kind === 'sign' && following.character === '&')
      this.throwUnjudged('&&', at);
    if (kind === 'end') this.refuse('a character class is not closed');
    if (kind !== 'escape') return this.takeToken().character;
    if (/^[1-9bBARGXZkz]$/.test(character)) this.refuse(`\\${character} is no escape sequence of a class`, at);
    return this.readEscape();
  }

  private range(from: string, to: string, at: number): CharSet {
    const [min, max] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
    if (max < min) this.refuse(`the range ${from}-${to} is none`, at);
    return this.withCase(codePoints([min, max]));
  }
}
