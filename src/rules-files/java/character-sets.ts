import type { CharSet } from 'refa';
import { codePoints } from '../../trino-rules/document/characters.js';

const DIGIT = codePoints([0x30, 0x39]);
const WORD = codePoints([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]);
const SPACE = codePoints([0x09, 0x0d], [0x20, 0x20]);

/** Characters by the letter of their escape sequence. */
export const CONTROLS: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' };

/** Sets by the letter of their escape sequence. */
export const PREDEFINED: Readonly<Record<string, CharSet>> = {
  d: DIGIT,
  D: DIGIT.negate(),
  w: WORD,
  W: WORD.negate(),
  s: SPACE,
  S: SPACE.negate(),
};

const LOWER: [number, number] = [0x61, 0x7a];
const UPPER: [number, number] = [0x41, 0x5a];
/** Ranges of `\p{…}`, without UNICODE_CHARACTER_CLASS. */
export const ASCII_PROPERTIES: Readonly<Record<string, [number, number][]>> = {
  ASCII: [[0, 0x7f]],
  Lower: [LOWER],
  Upper: [UPPER],
  Alpha: [LOWER, UPPER],
  Digit: [[0x30, 0x39]],
  Alnum: [LOWER, UPPER, [0x30, 0x39]],
  Punct: [
    [0x21, 0x2f],
    [0x3a, 0x40],
    [0x5b, 0x60],
    [0x7b, 0x7e],
  ],
  Graph: [[0x21, 0x7e]],
  Print: [[0x20, 0x7e]],
  Blank: [
    [0x09, 0x09],
    [0x20, 0x20],
  ],
  Space: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
};

/** As CASE_INSENSITIVE reads a set without UNICODE_CASE: the case of ASCII letters alone is ignored. */
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

export function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}
