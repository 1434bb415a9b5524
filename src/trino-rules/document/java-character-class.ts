import { CharSet, type CharRange } from 'refa';
import { bothCases, LAST_CODE_POINT } from './java-characters.js';
import { readEscape } from './java-escape.js';
import { JavaPatternRefused, MAX_DEPTH, MAX_JUDGED_DEPTH, type PatternSource } from './java-pattern-source.js';

const NOTHING = CharSet.empty(LAST_CODE_POINT);

/**
 * A character class with its unions and intersections, from `[` on, closing bracket included. Null: it holds properties of characters,
 * and is not judged as a set.
 * @param depth how many groups are around it
 * @throws JavaPatternRefused
 */
export function readCharacterClass(source: PatternSource, depth: number): CharSet | null {
  const reader = new ClassReader(source);
  const characters = reader.class(true, depth);
  return reader.isOpaque ? null : characters();
}

/** The set that a part of a class will have been when all of the class is read. */
type Part = () => CharSet;

/** As `clazz` and `range` of java.util.regex.Pattern, which keep some facts of what stood before (JDK 25). */
class ClassReader {
  isOpaque = false;
  private intersections = 0;

  constructor(private readonly source: PatternSource) {}

  /** @param isBracketed false: what stands behind `&&`, up to the bracket of the class around it */
  class(isBracketed: boolean, depth: number): Part {
    const { source } = this;
    const start = source.at;
    if (depth > MAX_DEPTH) throw new JavaPatternRefused('it is nested too deeply', start);
    if (depth > MAX_JUDGED_DEPTH) this.isOpaque = true;
    /** Java keeps characters below 256 as one set, which grows even behind an `&&` that it is a side of. */
    const small: CharRange[] = [];
    const smallPart: Part = () => NOTHING.union(small);
    let isSmallPending = false;
    let whole: Part[] | null = null;
    let last: Part | null = null;
    let sign = source.next();
    const isNegated = sign === '^' && source.raw(-1) === '[';
    if (isNegated) sign = source.next();
    if (sign === ']') source.differs('read-differently', isNegated ? '[^]…]' : '[]…]');
    for (;;) {
      if (sign === '' && source.isAtEnd) throw new JavaPatternRefused('a character class is not closed', start);
      if (sign === ']' && (whole !== null || isSmallPending)) break;
      if (sign === '[') {
        source.differs('read-differently', '[…[…]]');
        last = this.class(true, depth + 1);
        (whole ??= []).push(last);
        sign = source.peek();
        continue;
      }
      if (sign === '&') {
        if (source.next() === '&') {
          source.differs('read-differently', '&&');
          const right = this.rightSide(depth);
          if (isSmallPending) {
            if (whole === null) last = smallPart;
            (whole ??= []).push(smallPart);
            isSmallPending = false;
          }
          last = right ?? last;
          if (whole === null && right === null) throw new JavaPatternRefused('&& stands alone in a class', start);
          // A character that is given by its name may have been one below 256, or not.
          if (last === null && !source.namesCharacter)
            throw new JavaPatternRefused('&& has no right side in a class', start);
          last ??= smallPart;
          whole = whole === null ? [last] : [this.intersection(whole, last)];
          sign = source.peek();
          continue;
        }
        source.at--;
      }
      const member = this.member();
      if (Array.isArray(member)) {
        small.push(...member);
        isSmallPending = true;
        last = null;
      } else {
        last = member;
        (whole ??= []).push(last);
      }
      sign = source.peek();
    }
    if (isBracketed) source.at++;
    const parts = whole ?? [];
    if (isSmallPending) parts.push(smallPart);
    return isNegated ? () => union(parts).negate() : () => union(parts);
  }

  /** Behind `&&`, up to the end of the class or the next `&`; null: there is nothing. */
  private rightSide(depth: number): Part | null {
    const { source } = this;
    const parts: Part[] = [];
    for (let sign = source.next(); sign !== ']' && sign !== '&'; sign = source.peek()) {
      if (sign !== '[') source.at--;
      parts.push(this.class(sign === '[', depth + 1));
    }
    return parts.length === 0 ? null : () => union(parts);
  }

  private intersection(left: readonly Part[], right: Part): Part {
    if (++this.intersections > MAX_JUDGED_DEPTH) {
      this.isOpaque = true;
      return () => NOTHING;
    }
    return () => union(left).intersect(right());
  }

  /** A character, a range or the set of an escape sequence; characters below 256 as their ranges. */
  private member(): Part | CharRange[] {
    const { source } = this;
    const start = source.at;
    const from = this.character(source.peek() === '\\' && source.raw(2) === '-');
    if (typeof from === 'function') return from;
    if (source.peek() !== '-') return this.single(from);
    const end = source.raw(1);
    if (end === '[' || end === ']') return this.single(from);
    source.next();
    const to = source.peek() === '\\' ? this.character(true) : this.plain();
    if (typeof to === 'function' || to < from)
      throw new JavaPatternRefused(`the range ${source.written(start, source.at)} is none`, start);
    return this.range(from, to);
  }

  private character(isRange: boolean): number | Part {
    const { source } = this;
    if (source.peek() !== '\\') return this.plain();
    const escape = readEscape(source, true, isRange);
    if (escape.kind === 'character') return escape.code;
    if (escape.kind === 'opaque') this.isOpaque = true;
    if (escape.kind === 'opaque' && escape.isNamed) return UNKNOWN;
    const characters = escape.kind === 'set' ? escape.characters : NOTHING;
    return () => characters;
  }

  private plain(): number {
    const code = this.source.peek().codePointAt(0) ?? 0;
    this.source.at++;
    return code;
  }

  private single(code: number): Part | CharRange[] {
    const hasOtherCases = this.source.has('i') && this.source.has('u') && OTHER_CASES_BEYOND.includes(code);
    return code < 256 && !hasOtherCases ? [...this.cased(code, code).ranges] : this.range(code, code);
  }

  private range(min: number, max: number): Part {
    const characters = this.cased(min, max);
    return () => characters;
  }

  /** Read in both cases before a class is negated: `(?i)[^a]` is neither a nor A. */
  private cased(min: number, max: number): CharSet {
    if (Number.isNaN(min + max)) return NOTHING;
    const characters = NOTHING.union([{ min, max }]);
    if (!this.source.has('i')) return characters;
    if (this.source.has('u')) this.isOpaque = true;
    return bothCases(characters);
  }
}

/** The code point of a character that is given by its name. */
const UNKNOWN = NaN;

/** Latin letters with a case beyond Latin-1. */
const OTHER_CASES_BEYOND = Array.from('ÿµIiSsKkÅå', (letter) => letter.codePointAt(0));

function union(parts: readonly Part[]): CharSet {
  return NOTHING.union(parts.flatMap((part) => part().ranges));
}
