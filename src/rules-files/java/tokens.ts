import type { CharSet } from 'refa';
import { codePoints } from '../../trino-rules/document/characters.js';

class PlacedError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}
export class PatternRefused extends PlacedError {}
export class ConstructNotJudged extends PlacedError {}

/** One character of a pattern. `sign`: possibly syntax. `escape`: after a backslash. `quoted`: in `\Q…\E`, so not syntax. */
export interface Token {
  kind: 'sign' | 'quoted' | 'escape' | 'end';
  character: string;
  at: number;
}

/** The characters of a pattern, without `\Q` and `\E`. @throws ConstructNotJudged for half of a surrogate pair */
export function tokensOf(text: string): Token[] {
  const characters = Array.from(text);
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    if (isSurrogate(character.codePointAt(0) ?? 0)) throw new ConstructNotJudged('half of a surrogate pair', at);
    if (character !== '\\') tokens.push({ kind: 'sign', character, at });
    else if (characters[at + 1] !== 'Q') tokens.push({ kind: 'escape', character: characters[++at] ?? '', at: at - 1 });
    else {
      const quoteStart = at + 2;
      for (at = quoteStart; at < characters.length && !(characters[at] === '\\' && characters[at + 1] === 'E'); at++) {
        const letter = characters[at] ?? '';
        // Between `\Q` and `\E`, Java leaves letters, non-ASCII characters, and digits after the first character unquoted: `(?\Qi\E)` sets a flag.
        const isSyntax = letter > '\x7f' || /[a-zA-Z]/.test(letter) || (at > quoteStart && /[0-9]/.test(letter));
        tokens.push({ kind: isSyntax ? 'sign' : 'quoted', character: letter, at });
      }
      at++;
    }
  }
  tokens.push({ kind: 'end', character: '', at: characters.length });
  return tokens;
}

/** The characters of ranges, each given by its two ends. */
const charactersIn = (...ranges: string[]): CharSet =>
  codePoints(...ranges.map((ends): [number, number] => [ends.charCodeAt(0), ends.charCodeAt(1)]));

const DIGIT = charactersIn('09');
const WORD = charactersIn('09', 'AZ', '__', 'az');
const SPACE = charactersIn('\t\r', '  ');

/** Characters by the letter of their escape sequence. */
export const CONTROL_CHARACTERS: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' };

/** Sets of characters by the letter of their escape sequence: `\d`, `\W`. */
export const PREDEFINED_SETS: Readonly<Record<string, CharSet>> = {
  d: DIGIT,
  D: DIGIT.negate(),
  w: WORD,
  W: WORD.negate(),
  s: SPACE,
  S: SPACE.negate(),
};

/** Sets of characters by the name in `\p{…}`, without UNICODE_CHARACTER_CLASS. */
export const ASCII_PROPERTIES: ReadonlyMap<string, CharSet> = new Map([
  ['ASCII', charactersIn('\0\x7f')],
  ['Lower', charactersIn('az')],
  ['Upper', charactersIn('AZ')],
  ['Alpha', charactersIn('az', 'AZ')],
  ['Digit', DIGIT],
  ['Alnum', charactersIn('az', 'AZ', '09')],
  ['Punct', charactersIn('!/', ':@', '[`', '{~')],
  ['Graph', charactersIn('!~')],
  ['Print', charactersIn(' ~')],
  ['Blank', charactersIn('\t\t', '  ')],
  ['Space', SPACE],
]);

/** The characters with ASCII letters in both cases, as Java's CASE_INSENSITIVE without UNICODE_CASE matches them. */
export function withBothCases(characters: CharSet): CharSet {
  const otherCaseRanges = characters.ranges.flatMap(({ min, max }) => [
    ...shiftRange(min, max, 0x41, 0x5a, 0x20),
    ...shiftRange(min, max, 0x61, 0x7a, -0x20),
  ]);
  return characters.union(otherCaseRanges);
}

function shiftRange(
  min: number,
  max: number,
  firstToShift: number,
  lastToShift: number,
  shift: number,
): { min: number; max: number }[] {
  const [low, high] = [Math.max(min, firstToShift), Math.min(max, lastToShift)];
  return low > high ? [] : [{ min: low + shift, max: high + shift }];
}

export function isSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff;
}
