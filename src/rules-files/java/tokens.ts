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
/** Java refuses the pattern. */
export class Refused extends PlacedError {}
/** A construct that is not read here. */
export class NotJudged extends PlacedError {}

/** One character of the pattern. `escape`: behind a backslash; `quoted`: a sign of syntax in a quotation, which has no meaning there. */
export interface Token {
  kind: 'sign' | 'quoted' | 'escape' | 'end';
  character: string;
  at: number;
}

/** @throws NotJudged for half of a surrogate pair */
export function tokensOf(text: string): Token[] {
  const characters = Array.from(text);
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    if (isSurrogate(character.codePointAt(0) ?? 0)) throw new NotJudged('half of a surrogate pair', at);
    if (character !== '\\') tokens.push({ kind: 'sign', character, at });
    else if (characters[at + 1] !== 'Q') tokens.push({ kind: 'escape', character: characters[++at] ?? '', at: at - 1 });
    else {
      const start = at + 2;
      for (at = start; at < characters.length && !(characters[at] === '\\' && characters[at + 1] === 'E'); at++) {
        const quoted = characters[at] ?? '';
        // As in Java, a quoted letter keeps its meaning: `(?\Qi\E)` is a flag.
        const isPlain = quoted > '\x7f' || /[a-zA-Z]/.test(quoted) || (at > start && /[0-9]/.test(quoted));
        tokens.push({ kind: isPlain ? 'sign' : 'quoted', character: quoted, at });
      }
      at++;
    }
  }
  tokens.push({ kind: 'end', character: '', at: characters.length });
  return tokens;
}

/** The characters of ranges, each given by its two ends. */
const within = (...ranges: string[]): CharSet =>
  codePoints(...ranges.map((ends): [number, number] => [ends.charCodeAt(0), ends.charCodeAt(1)]));

const DIGIT = within('09');
const WORD = within('09', 'AZ', '__', 'az');
const SPACE = within('\t\r', '  ');

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

/** Sets by the name in `\p{…}`, without UNICODE_CHARACTER_CLASS. */
export const ASCII_PROPERTIES: ReadonlyMap<string, CharSet> = new Map([
  ['ASCII', within('\0\x7f')],
  ['Lower', within('az')],
  ['Upper', within('AZ')],
  ['Alpha', within('az', 'AZ')],
  ['Digit', DIGIT],
  ['Alnum', within('az', 'AZ', '09')],
  ['Punct', within('!/', ':@', '[`', '{~')],
  ['Graph', within('!~')],
  ['Print', within(' ~')],
  ['Blank', within('\t\t', '  ')],
  ['Space', SPACE],
]);

/** The set that CASE_INSENSITIVE without UNICODE_CASE matches: only the case of ASCII letters is ignored. */
export function withBothCases(characters: CharSet): CharSet {
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
