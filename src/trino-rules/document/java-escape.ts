import type { CharSet } from 'refa';
import { asciiProperty, LAST_CODE_POINT, PREDEFINED } from './java-characters.js';
import { BACK_REFERENCE, CHARACTER, GRAPHEME, LINE_BREAK, NO_CHARACTER, type Extent } from './java-extent.js';
import { JavaPatternRefused, type PatternSource } from './java-pattern-source.js';
import { isJavaProperty } from './java-property.js';

export type JavaEscape =
  | { kind: 'character'; code: number }
  | { kind: 'set'; characters: CharSet; isProperty?: true }
  /** A boundary, a back-reference, a property: not judged as a language. `isCharacter`: always one. */
  | { kind: 'opaque'; isCharacter: boolean; isNamed?: true; extent: Extent };

/** Escapes that JavaScript, without its u flag, reads as the letter itself. */
const LETTERS_TO_JAVASCRIPT = 'aeAEGhHNpPRVxXzZ';

type Refuse = (message: string) => never;

/**
 * One escape sequence, from its backslash on, as java.util.regex reads it (JDK 25).
 * @param isRange in a class: it ends a range, or `-` stands behind it
 * @throws JavaPatternRefused
 */
export function readEscape(source: PatternSource, isInClass: boolean, isRange = false): JavaEscape {
  const start = source.at;
  const refuse: Refuse = (message) => {
    throw new JavaPatternRefused(message, start);
  };
  const sign = String.fromCodePoint(source.skip());
  if (source.isBeyondEnd) return refuse('a backslash stands at the end');
  if (sign === 'v' || (LETTERS_TO_JAVASCRIPT.includes(sign) && !(sign === 'x' && isTwoDigits(source))))
    source.differs('read-differently', `\\${sign}`);
  if (sign === 'v' && isRange) return character(0x0b);
  const characters = PREDEFINED[sign];
  // With UNICODE_CHARACTER_CLASS they are other sets; such a pattern is not judged.
  if (characters !== undefined) return { kind: 'set', characters };
  switch (sign) {
    case '0':
      source.differs('read-differently', '\\0');
      return character(octal(source, refuse));
    case 'a':
      return character(0x07);
    case 'e':
      return character(0x1b);
    case 'f':
      return character(0x0c);
    case 'n':
      return character(0x0a);
    case 'r':
      return character(0x0d);
    case 't':
      return character(0x09);
    case 'c':
      return source.isAtEnd ? refuse('\\c needs a character behind it') : character(source.read() ^ 0x40);
    case 'u':
      return character(unicode(source, refuse));
    case 'x':
      return character(hexadecimal(source, refuse));
    case 'N':
      return characterName(source, refuse);
    case 'p':
    case 'P':
      // The backslash and its letter have been taken, of which Java's own reading still looks at the letter.
      source.at--;
      return property(source, sign === 'P', refuse);
    default:
  }
  if (!/^[A-Za-z1-9]$/.test(sign)) return { kind: 'character', code: sign.codePointAt(0) ?? 0 };
  if (isInClass) return refuse(`\\${sign} is no escape sequence of a class`);
  return reference(source, sign, refuse);
}

/** Escapes that are none in a class: boundaries, references, line breaks. */
function reference(source: PatternSource, sign: string, refuse: Refuse): JavaEscape {
  switch (sign) {
    case 'k': {
      if (source.read() !== 0x3c) refuse('\\k needs the name of a group in <>');
      const name = source.groupName(source.read());
      if (!source.hasGroup(name)) refuse(`there is no group ${name} for \\k`);
      return opaque(BACK_REFERENCE);
    }
    case 'b':
      if (source.peek() === '{' && source.raw(1) === 'g') {
        source.at += 2;
        if (source.read() !== 0x7d) refuse('\\b{g is not closed by }');
      }
      return opaque(NO_CHARACTER);
    case 'R':
      return opaque(LINE_BREAK);
    case 'X':
      return opaque(GRAPHEME);
    default:
      if (/^[1-9]$/.test(sign)) return groupNumber(source, Number(sign));
      return /^[ABGZz]$/.test(sign) ? opaque(NO_CHARACTER) : refuse(`\\${sign} is no escape sequence`);
  }
}

/** As many digits as there are groups for. */
function groupNumber(source: PatternSource, first: number): JavaEscape {
  let number = first;
  for (let digit = source.peek(); /^[0-9]$/.test(digit); digit = source.peek()) {
    if (number * 10 + Number(digit) > source.groups) break;
    number = number * 10 + Number(digit);
    source.read();
  }
  return opaque(BACK_REFERENCE);
}

function opaque(extent: Extent, isCharacter = false): JavaEscape {
  return { kind: 'opaque', isCharacter, extent };
}

function character(code: number): JavaEscape {
  return { kind: 'character', code };
}

function isTwoDigits(source: PatternSource): boolean {
  return /^[0-9a-fA-F]{2}$/.test(source.raw(0) + source.raw(1));
}

function octal(source: PatternSource, refuse: Refuse): number {
  const digit = (): number => {
    const code = source.read();
    return code >= 0x30 && code <= 0x37 ? code - 0x30 : -1;
  };
  const first = digit();
  if (first < 0) refuse('\\0 needs an octal number behind it');
  const second = digit();
  if (second < 0) {
    source.at--;
    return first;
  }
  const third = digit();
  if (third >= 0 && first <= 3) return first * 64 + second * 8 + third;
  source.at--;
  return first * 8 + second;
}

function hexadecimal(source: PatternSource, refuse: Refuse): number {
  const first = source.read();
  if (isHexadecimal(first)) {
    const second = source.read();
    if (isHexadecimal(second)) return parseInt(String.fromCharCode(first, second), 16);
    return refuse('\\x needs two hexadecimal digits');
  }
  if (first !== 0x7b || !/^[0-9a-fA-F]$/.test(source.peek())) return refuse('\\x needs two hexadecimal digits');
  let code = 0;
  let last = source.read();
  for (; isHexadecimal(last); last = source.read()) {
    code = code * 16 + parseInt(String.fromCharCode(last), 16);
    if (code > LAST_CODE_POINT) refuse('\\x{…} is beyond Unicode');
  }
  return last === 0x7d ? code : refuse('\\x{…} needs a hexadecimal number');
}

/** The two escape sequences of a surrogate pair are one character. */
function unicode(source: PatternSource, refuse: Refuse): number {
  const four = (): number => {
    const digits = Array.from({ length: 4 }, () => source.read());
    if (!digits.every(isHexadecimal)) refuse('\\u needs four hexadecimal digits');
    return parseInt(String.fromCharCode(...digits), 16);
  };
  const high = four();
  if (high < 0xd800 || high > 0xdbff) return high;
  const behind = source.at;
  if (source.read() === 0x5c && source.read() === 0x75) {
    const low = four();
    if (low >= 0xdc00 && low <= 0xdfff) return ((high - 0xd800) << 10) + (low - 0xdc00) + 0x10000;
  }
  source.at = behind;
  return high;
}

function isHexadecimal(code: number): boolean {
  return /^[0-9a-fA-F]$/.test(String.fromCodePoint(code));
}

/** Only Java has the table of names. */
function characterName(source: PatternSource, refuse: Refuse): JavaEscape {
  if (source.read() !== 0x7b) return refuse('\\N needs the name of a character in braces');
  const start = source.at;
  while (source.read() !== 0x7d) if (source.isAtEnd) refuse('the name of a character is not closed by }');
  const name = source.written(start, source.at - 1);
  if (!/^[A-Za-z0-9 ()-]+$/.test(name.trim())) refuse(`there is no character named ${name}`);
  source.namesCharacter = true;
  return { kind: 'opaque', isCharacter: true, isNamed: true, extent: CHARACTER };
}

/** Behind `\p`: one letter, or a name in braces. */
function property(source: PatternSource, isNegated: boolean, refuse: Refuse): JavaEscape {
  let name: string;
  if (source.next() === '{') {
    source.next();
    const written = source.throughBrace();
    if (written === null) return refuse('the name of a property is not closed by }');
    name = written;
  } else {
    source.at--;
    source.next();
    name = source.raw(0);
    source.read();
  }
  if (!isJavaProperty(name, source.has('U'))) refuse(`there is no property ${name}`);
  const characters = source.has('U') ? null : asciiProperty(name, source.has('i'));
  if (characters === null) return source.has('c') ? opaque(GRAPHEME) : opaque(CHARACTER, true);
  return { kind: 'set', characters: isNegated ? characters.negate() : characters, isProperty: true };
}
