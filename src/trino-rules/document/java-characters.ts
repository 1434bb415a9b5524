import { CharSet } from 'refa';

export const LAST_CODE_POINT = 0x10ffff;

/** Code points by their ranges, both ends included. */
export function codePoints(...ranges: [number, number][]): CharSet {
  return CharSet.empty(LAST_CODE_POINT).union(ranges.map(([min, max]) => ({ min, max })));
}

export const ALL = CharSet.all(LAST_CODE_POINT);
/** Java's dot, without DOTALL. */
export const DOT = codePoints([0x0a, 0x0a], [0x0d, 0x0d], [0x85, 0x85], [0x2028, 0x2029]).negate();
/** The same with UNIX_LINES. */
export const UNIX_DOT = codePoints([0x0a, 0x0a]).negate();

const DIGIT = codePoints([0x30, 0x39]);
const WORD = codePoints([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]);
const SPACE = codePoints([0x09, 0x0d], [0x20, 0x20]);
const HORIZONTAL = codePoints(
  [0x09, 0x09],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x180e, 0x180e],
  [0x2000, 0x200a],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
);
const VERTICAL = codePoints([0x0a, 0x0d], [0x85, 0x85], [0x2028, 0x2029]);

/** By the letter behind the backslash, without UNICODE_CHARACTER_CLASS. */
export const PREDEFINED: Readonly<Record<string, CharSet>> = {
  d: DIGIT,
  D: DIGIT.negate(),
  w: WORD,
  W: WORD.negate(),
  s: SPACE,
  S: SPACE.negate(),
  h: HORIZONTAL,
  H: HORIZONTAL.negate(),
  v: VERTICAL,
  V: VERTICAL.negate(),
};

const LETTERS = codePoints([0x41, 0x5a], [0x61, 0x7a]);

/** The characters of an ASCII property; null: it is another property. */
export function asciiProperty(name: string, ignoresCase: boolean): CharSet | null {
  switch (name) {
    case 'all':
      return ALL;
    case 'L1':
      return codePoints([0, 0xff]);
    case 'ASCII':
      return codePoints([0, 0x7f]);
    case 'Lower':
      return ignoresCase ? LETTERS : codePoints([0x61, 0x7a]);
    case 'Upper':
      return ignoresCase ? LETTERS : codePoints([0x41, 0x5a]);
    case 'Alpha':
      return LETTERS;
    case 'Digit':
      return DIGIT;
    case 'Alnum':
      return LETTERS.union(DIGIT);
    case 'Punct':
      return codePoints([0x21, 0x7e]).without(LETTERS.union(DIGIT));
    case 'Graph':
      return codePoints([0x21, 0x7e]);
    case 'Print':
      return codePoints([0x20, 0x7e]);
    case 'Blank':
      return codePoints([0x09, 0x09], [0x20, 0x20]);
    case 'Cntrl':
      return codePoints([0, 0x1f], [0x7f, 0x7f]);
    case 'XDigit':
      return codePoints([0x30, 0x39], [0x41, 0x46], [0x61, 0x66]);
    case 'Space':
      return SPACE;
    default:
      return null;
  }
}

/** As CASE_INSENSITIVE reads a set without UNICODE_CASE: of ASCII letters alone. */
export function bothCases(characters: CharSet): CharSet {
  const turned = characters.ranges.flatMap(({ min, max }) => [
    ...shifted(min, max, 0x41, 0x5a, 0x20),
    ...shifted(min, max, 0x61, 0x7a, -0x20),
  ]);
  return characters.union(turned);
}

function shifted(min: number, max: number, from: number, to: number, by: number): { min: number; max: number }[] {
  const [low, high] = [Math.max(min, from), Math.min(max, to)];
  return low > high ? [] : [{ min: low + by, max: high + by }];
}

/** Whether a place in a text, in UTF-16 units, is within a character: between the two surrogates of a pair. */
export function isWithinCharacter(text: string, at: number): boolean {
  return isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1));
}

/** Where two texts meet, a high surrogate and a low one would become one character. */
export function wouldPair(before: string, after: string): boolean {
  return isLow(after.charCodeAt(0)) && isHigh(before.charCodeAt(before.length - 1));
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** How many UTF-16 units a code point takes. */
export function unitsOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}
