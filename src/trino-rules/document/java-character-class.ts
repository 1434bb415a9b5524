import { CharSet } from 'refa';
import { readEscape } from './java-escape.js';
import { JavaPatternRefused, type PatternSource } from './java-pattern-source.js';

const MAX_UNIT = 0xffff;
const MAX_DEPTH = 100;
const NOTHING = CharSet.empty(MAX_UNIT);

/**
 * A character class with its unions and intersections, from `[` on. Null: it holds properties or characters beyond UTF-16's
 * first plane, and is not judged as a set.
 * @throws JavaPatternRefused
 */
export function readCharacterClass(source: PatternSource, ignoresCase: boolean): CharSet | null {
  const reader = new ClassReader(source, ignoresCase);
  const units = reader.class(0);
  return reader.isOpaque ? null : units;
}

class ClassReader {
  isOpaque = false;

  constructor(
    private readonly source: PatternSource,
    private readonly ignoresCase: boolean,
  ) {}

  class(depth: number): CharSet {
    const { source } = this;
    const start = source.at++;
    if (depth > MAX_DEPTH) throw new JavaPatternRefused('it is nested too deeply', start);
    const isNegated = source.take('^');
    if (source.peek() === ']') source.differs('read-differently', isNegated ? '[^]…]' : '[]…]');
    const units = this.intersections(start, depth);
    source.at++;
    return isNegated ? units.negate() : units;
  }

  /** What stands between the brackets, up to the closing one. */
  private intersections(start: number, depth: number): CharSet {
    const { source } = this;
    let whole: CharSet | null = null;
    let part: CharSet | null = null;
    for (let isFirst = true; ; isFirst = false) {
      const sign = source.peek();
      if (sign === '') throw new JavaPatternRefused('a character class is not closed', start);
      if (sign === ']' && !isFirst && (whole !== null || part !== null)) break;
      if (sign === '&' && source.peek(1) === '&') {
        source.differs('read-differently', '&&');
        source.at += 2;
        // Java adds a third & to what stood before the other two.
        if (source.peek() === '&') this.isOpaque = true;
        while (source.peek() === '&') source.at++;
        // A side without members stands for the other one.
        if (part !== null) whole = whole === null ? part : whole.intersect(part);
        part = null;
        if (source.peek() === ']' && whole === null) throw new JavaPatternRefused('&& stands alone in a class', start);
        continue;
      }
      part = (part ?? NOTHING).union(this.member(depth));
    }
    if (whole === null) return part ?? NOTHING;
    // Java then intersects with a part of the class before it.
    if (part === null) this.isOpaque = true;
    return part === null ? whole : whole.intersect(part);
  }

  private member(depth: number): CharSet {
    const { source } = this;
    if (source.peek() === '[') {
      source.differs('read-differently', '[…[…]]');
      return this.class(depth + 1);
    }
    const start = source.at;
    const from = this.character();
    if (typeof from !== 'string') return from;
    if (source.peek() !== '-' || ['[', ']', ''].includes(source.peek(1))) return this.single(from);
    source.at++;
    const to = this.character();
    const [min, max] = [from.codePointAt(0) ?? 0, typeof to === 'string' ? (to.codePointAt(0) ?? 0) : -1];
    if (max < min) throw new JavaPatternRefused(`the range ${source.since(start)} is none`, start);
    if (max > MAX_UNIT) {
      this.isOpaque = true;
      return NOTHING;
    }
    return this.range(min, max);
  }

  /** A character, or the set of an escape sequence. */
  private character(): string | CharSet {
    const { source } = this;
    if (source.peek() !== '\\') return source.next();
    const escape = readEscape(source, true);
    if (escape.kind === 'character') return escape.character;
    if (escape.kind === 'set') return escape.units;
    this.isOpaque = true;
    return NOTHING;
  }

  private single(character: string): CharSet {
    const code = character.codePointAt(0) ?? 0;
    if (code <= MAX_UNIT) return this.range(code, code);
    this.isOpaque = true;
    return NOTHING;
  }

  /** Each range is read in both cases before a class is negated: `(?i)[^a]` is neither a nor A. */
  private range(min: number, max: number): CharSet {
    const units = NOTHING.union([{ min, max }]);
    return this.ignoresCase ? bothCases(units) : units;
  }
}

/** Of ASCII letters alone. */
function bothCases(units: CharSet): CharSet {
  const turned = units.ranges.flatMap(({ min, max }) => [
    ...shifted(min, max, 0x41, 0x5a, 0x20),
    ...shifted(min, max, 0x61, 0x7a, -0x20),
  ]);
  return units.union(turned);
}

function shifted(min: number, max: number, from: number, to: number, by: number): { min: number; max: number }[] {
  const [low, high] = [Math.max(min, from), Math.min(max, to)];
  return low > high ? [] : [{ min: low + by, max: high + by }];
}
