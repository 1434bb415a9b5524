import { CharSet } from 'refa';

export const LAST_CODE_POINT = 0x10ffff;

/** Code points by their ranges, both ends included. */
export function codePoints(...ranges: [number, number][]): CharSet {
  return CharSet.empty(LAST_CODE_POINT).union(ranges.map(([min, max]) => ({ min, max })));
}

/** The characters that Java's `.` matches without DOTALL: all but line ends. */
export const DOT = codePoints([0x0a, 0x0a], [0x0d, 0x0d], [0x85, 0x85], [0x2028, 0x2029]).negate();

/** Whether an offset is between the two surrogates of a pair. */
export function isWithinCharacter(text: string, offset: number): boolean {
  return isLowSurrogate(text.charCodeAt(offset)) && isHighSurrogate(text.charCodeAt(offset - 1));
}

/** Whether the end of `before` and the beginning of `after` would form a surrogate pair. */
export function wouldPairSurrogates(before: string, after: string): boolean {
  return isLowSurrogate(after.charCodeAt(0)) && isHighSurrogate(before.charCodeAt(before.length - 1));
}

function isHighSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit <= 0xdbff;
}

function isLowSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xdc00 && codeUnit <= 0xdfff;
}

export function utf16Length(code: number): number {
  return code > 0xffff ? 2 : 1;
}
