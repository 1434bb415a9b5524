import { CharSet } from 'refa';

export const LAST_CODE_POINT = 0x10ffff;

/** Code points by their ranges, both ends included. */
export function codePoints(...ranges: [number, number][]): CharSet {
  return CharSet.empty(LAST_CODE_POINT).union(ranges.map(([min, max]) => ({ min, max })));
}

/** Java's dot, without DOTALL. */
export const DOT = codePoints([0x0a, 0x0a], [0x0d, 0x0d], [0x85, 0x85], [0x2028, 0x2029]).negate();

/** Whether an offset is between the two surrogates of a pair. */
export function isWithinCharacter(text: string, at: number): boolean {
  return isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1));
}

/** Whether the concatenation would pair a high surrogate with a low one. */
export function wouldPair(before: string, after: string): boolean {
  return isLow(after.charCodeAt(0)) && isHigh(before.charCodeAt(before.length - 1));
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

export function unitsOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}
