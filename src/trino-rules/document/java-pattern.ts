import type { CharSet } from 'refa';
import { readCharacterClass } from './java-character-class.js';
import { ALL, bothCases, codePoints, DOT, UNIX_DOT, wouldPair } from './java-characters.js';
import { readEscape } from './java-escape.js';
import {
  CHARACTER,
  GRAPHEME,
  independentExtent,
  inSequence,
  isObvious,
  NO_CHARACTER,
  oneOfExtents,
  repeatedExtent,
  repeatedGroupExtent,
  type Extent,
} from './java-extent.js';
import { readFlags } from './java-flags.js';
import { withoutLookAhead } from './java-look-ahead.js';
import { NOTHING, readRepetition, repeated } from './java-repetition.js';
import {
  JavaPatternRefused,
  MAX_DEPTH,
  MAX_JUDGED_DEPTH,
  PatternSource,
  type JavaFlag,
  type JavaPatternReading,
} from './java-pattern-source.js';
import type { JavaPiece, Pattern } from './pattern.js';

/**
 * Reads a whole-string pattern as java.util.regex does (JDK 25: `Pattern.compile` without flags), and refuses what it refuses.
 * `test/stack/java-patterns.stack-spec.ts` compares verdicts and matches with Java's own.
 */
export function readJavaPattern(text: string): JavaPatternReading {
  const source = new PatternSource(text);
  try {
    const { options } = new JavaPatternReader(source).alternatives(0, true);
    if (source.peek() === ')') throw new JavaPatternRefused('a closing parenthesis without an opening one', source.at);
    if (!source.isAtEnd || source.isBeyondEnd) throw new JavaPatternRefused('it ends in the middle', source.at);
    const { groups, differences, namesCharacter, isOpaque } = source;
    let pattern: Pattern | null | undefined;
    return {
      kind: 'read',
      // Of a look-ahead an automaton is made, which not everybody needs.
      get pattern() {
        return (pattern ??= isOpaque ? null : withoutLookAhead(options));
      },
      groups,
      differences,
      namesCharacter,
    };
  } catch (error) {
    if (error instanceof JavaPatternRefused) return { kind: 'refused', reason: error.message, at: error.at };
    throw error;
  }
}

/** A part of a pattern, and what it means for a look-behind around it. */
interface Part {
  piece: JavaPiece;
  extent: Extent;
  /** One character or class. */
  isSet?: true;
}

class JavaPatternReader {
  /** How many ^ were read. */
  private carets = 0;

  constructor(private readonly source: PatternSource) {}

  /** @param isAtStart nothing stands before it in the whole pattern */
  alternatives(depth: number, isAtStart: boolean): { options: JavaPiece[][]; extent: Extent } {
    const { source } = this;
    if (depth > MAX_DEPTH) throw new JavaPatternRefused('it is nested too deeply', source.at);
    if (depth > MAX_JUDGED_DEPTH) source.isOpaque = true;
    const all = [this.sequence(depth, isAtStart)];
    while (source.take('|')) all.push(this.sequence(depth, isAtStart));
    const extents = all.map(({ extent }) => extent);
    return {
      options: all.map(({ pieces }) => pieces),
      extent: extents.length === 1 ? inSequence(extents) : oneOfExtents(extents),
    };
  }

  private sequence(depth: number, isAtStart: boolean): { pieces: JavaPiece[]; extent: Extent } {
    const { source } = this;
    const pieces: JavaPiece[] = [];
    const extents: Extent[] = [];
    for (;;) {
      const sign = source.peek();
      if (sign === '' || sign === '|' || sign === ')') return { pieces, extent: inSequence(extents) };
      const isFirst = isAtStart && pieces.length === 0;
      const part = sign === '(' ? this.group(depth, isFirst) : this.repeatedAtom(sign, depth, isFirst);
      if (part === null) continue;
      extents.push(part.extent);
      const { piece } = part;
      if (piece === NOTHING) continue;
      const last = pieces.at(-1);
      if (piece.kind === 'literal' && last?.kind === 'literal' && !wouldPair(last.text, piece.text))
        last.text += piece.text;
      else pieces.push(piece);
    }
  }

  private repeatedAtom(sign: string, depth: number, isFirst: boolean): Part {
    const atom = this.atom(sign, depth, isFirst);
    const repetition = readRepetition(this.source);
    if (repetition === null) return atom;
    const extent = repeatedExtent(atom.extent, repetition, atom.isSet ?? false);
    return { piece: repeated(atom.piece, repetition), extent };
  }

  private atom(sign: string, depth: number, isFirst: boolean): Part {
    const { source } = this;
    switch (sign) {
      case '*':
      case '+':
      case '?':
        throw new JavaPatternRefused(`${sign} stands where there is nothing to repeat`, source.at);
      case '{':
        // A count without anything before it repeats the empty text.
        return { piece: NOTHING, extent: NO_CHARACTER };
      case '[':
        return this.inCanonicalForm(this.set(readCharacterClass(source, depth + 1)));
      case '.':
        source.at++;
        return this.set(source.has('s') ? ALL : source.has('d') ? UNIX_DOT : DOT);
      case '^':
      case '$': {
        source.at++;
        if (sign === '^') this.carets++;
        const isLast = depth === 0 && ['', '|'].includes(source.peek());
        if (source.has('m') ? sign === '^' || !isLast : sign === '^' && !isFirst) source.isOpaque = true;
        const piece: JavaPiece = sign === '^' || isLast ? NOTHING : { kind: 'end', isUnix: source.has('d') };
        return { piece, extent: NO_CHARACTER };
      }
      case '\\':
        return this.escaped();
      default:
        return this.literal(source.read());
    }
  }

  private escaped(): Part {
    const { source } = this;
    const escape = readEscape(source, false);
    if (escape.kind === 'character') return this.literal(escape.code);
    if (escape.kind === 'set')
      return escape.isProperty ? this.inCanonicalForm(this.set(escape.characters)) : this.set(escape.characters);
    source.isOpaque = true;
    return { piece: NOTHING, extent: escape.extent, ...(escape.isCharacter && { isSet: true }) };
  }

  private literal(code: number): Part {
    const { source } = this;
    if (source.has('i') && source.has('u')) source.isOpaque = true;
    const text = String.fromCodePoint(code);
    // Java ignores the case of ASCII letters alone, unless told otherwise.
    if (!source.has('i') || !/^[a-zA-Z]$/.test(text))
      return { piece: { kind: 'literal', text }, extent: CHARACTER, isSet: true };
    return this.set(bothCases(codePoints([code, code])));
  }

  /** Null: it is not judged. */
  private set(characters: CharSet | null): Part {
    if (characters === null) this.source.isOpaque = true;
    const piece: JavaPiece = characters === null ? NOTHING : { kind: 'set', characters };
    return { piece, extent: CHARACTER, isSet: true };
  }

  /** With CANON_EQ a class or a property may match several characters. */
  private inCanonicalForm(part: Part): Part {
    return this.source.has('c') ? { piece: part.piece, extent: GRAPHEME } : part;
  }

  /** Null: inline flags, which cannot be repeated. */
  private group(depth: number, isFirst: boolean): Part | null {
    const { source } = this;
    const start = source.at;
    const { flags } = source;
    if (source.next() !== '?') {
      source.addGroup(null);
      return this.rest(start, depth, isFirst, flags);
    }
    const sign = String.fromCodePoint(source.skip());
    switch (sign) {
      case ':':
        return this.rest(start, depth, isFirst, flags);
      case '=':
      case '!': {
        const { options } = this.body(start, depth, false, flags);
        return this.repeatedAssertion(NO_CHARACTER, { kind: 'ahead', isNegative: sign === '!', options });
      }
      case '>': {
        source.differs('refused-by-javascript', '(?>…)');
        source.isOpaque = true;
        const { extent } = this.body(start, depth, false, flags);
        return this.repeatedAssertion(independentExtent(extent));
      }
      case '<':
        return this.afterAngle(start, depth, isFirst, flags);
      default: {
        source.at--;
        if (!readFlags(source, start)) return null;
        return this.rest(start, depth, isFirst, flags);
      }
    }
  }

  /** Behind `(?<`: a name, or a look-behind. */
  private afterAngle(start: number, depth: number, isFirst: boolean, flags: ReadonlySet<JavaFlag>): Part {
    const { source } = this;
    const code = source.read();
    if (code !== 0x3d && code !== 0x21) {
      source.addGroup(source.groupName(code));
      return this.rest(start, depth, isFirst, flags);
    }
    source.isOpaque = true;
    const { extent } = this.body(start, depth, false, flags);
    if (!isObvious(extent)) throw new JavaPatternRefused('a look-behind has no obvious maximum length', start);
    return this.repeatedAssertion(NO_CHARACTER);
  }

  private repeatedAssertion(extent: Extent, piece: JavaPiece = NOTHING): Part {
    const repetition = readRepetition(this.source);
    if (repetition === null) return { piece, extent };
    return { piece: repeated(piece, repetition), extent: repeatedExtent(extent, repetition, false) };
  }

  private rest(start: number, depth: number, isFirst: boolean, flags: ReadonlySet<JavaFlag>): Part {
    const { carets, source } = this;
    const { options, extent } = this.body(start, depth, isFirst, flags);
    const [only = []] = options;
    const piece: JavaPiece = options.length === 1 && only.length === 0 ? NOTHING : { kind: 'choice', options };
    const repetition = readRepetition(source);
    if (repetition === null) return { piece, extent };
    // The start of the name is the start of the first repetition alone.
    if (repetition.max > 1 && this.carets > carets) source.isOpaque = true;
    return { piece: repeated(piece, repetition), extent: repeatedGroupExtent(extent, repetition) };
  }

  /** Up to the closing parenthesis, where the flags before the group hold again. */
  private body(start: number, depth: number, isFirst: boolean, flags: ReadonlySet<JavaFlag>) {
    const { source } = this;
    const inside = this.alternatives(depth + 1, isFirst);
    if (source.read() !== 0x29) throw new JavaPatternRefused('a group is not closed', start);
    source.flags = flags;
    return inside;
  }
}
