import { CharSet } from 'refa';
import { JavaPatternRefused, type PatternSource } from './java-pattern-source.js';

export type JavaEscape =
  | { kind: 'character'; character: string }
  | { kind: 'set'; units: CharSet }
  /** A boundary, a back-reference, a property: not judged as a language. */
  | { kind: 'opaque' };

const OPAQUE: JavaEscape = { kind: 'opaque' };
const MAX_UNIT = 0xffff;

function units(...ranges: [number, number][]): CharSet {
  return CharSet.empty(MAX_UNIT).union(ranges.map(([min, max]) => ({ min, max })));
}

const DIGIT = units([0x30, 0x39]);
const WORD = units([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]);
const SPACE = units([0x09, 0x0d], [0x20, 0x20]);
const HORIZONTAL = units(
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
const VERTICAL = units([0x0a, 0x0d], [0x85, 0x85], [0x2028, 0x2029]);
const SETS: Readonly<Record<string, CharSet>> = {
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
const CONTROLS: Readonly<Record<string, string>> = {
  a: '\u0007',
  e: '\u001b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
/** What JavaScript, without its u flag, reads as the letter itself. */
const LETTERS_TO_JAVASCRIPT = 'aeAEGhHNpPRVxXzZ';

/**
 * One escape sequence, as java.util.regex reads it (JDK 25).
 * @throws JavaPatternRefused
 */
export function readEscape(source: PatternSource, isInClass: boolean): JavaEscape {
  const start = source.at++;
  const refuse = (message: string): never => {
    throw new JavaPatternRefused(message, start);
  };
  const sign = source.nextEscaped();
  if (sign === '') return refuse('a backslash stands at the end');
  if (LETTERS_TO_JAVASCRIPT.includes(sign) || sign === 'v') {
    if (!(sign === 'x' && /^[0-9a-fA-F]{2}/.test(source.peek() + source.peek(1))))
      source.differs('read-differently', `\\${sign}`);
  }
  const set = SETS[sign];
  if (set !== undefined) return { kind: 'set', units: set };
  const control = CONTROLS[sign];
  if (control !== undefined) return { kind: 'character', character: control };
  switch (sign) {
    case '0': {
      const digits = source.match(/(?:[0-3][0-7]{0,2}|[4-7][0-7]?)?/y);
      if (digits === '') refuse('\\0 needs an octal number behind it');
      source.differs('read-differently', '\\0');
      return character(parseInt(digits, 8));
    }
    case 'c': {
      const code = source.next().codePointAt(0) ?? refuse('\\c needs a character behind it');
      return character(code ^ 0x40);
    }
    case 'u':
    case 'x':
      return character(hexadecimal(source, sign, refuse));
    case 'N': {
      if (!source.take('{') || source.match(/[A-Za-z0-9 -]*/y) === '' || !source.take('}'))
        refuse('\\N needs the name of a character in braces');
      return OPAQUE;
    }
    case 'p':
    case 'P':
      return property(source, refuse);
    case 'k': {
      if (isInClass) break;
      if (!source.take('<')) refuse('\\k needs the name of a group in <>');
      const name = source.groupName();
      if (!source.hasGroup(name)) refuse(`there is no group ${name} for \\k`);
      return OPAQUE;
    }
    case 'b':
      if (isInClass) break;
      source.take('{g}');
      return OPAQUE;
    default:
      if (!/^[A-Za-z1-9]$/.test(sign)) return { kind: 'character', character: sign };
      if (isInClass || !/^[ABGRXZz1-9]$/.test(sign)) break;
      return OPAQUE;
  }
  return refuse(`\\${sign} is no escape sequence${isInClass ? ' of a class' : ''}`);
}

function character(code: number): JavaEscape {
  return { kind: 'character', character: String.fromCodePoint(code) };
}

function hexadecimal(source: PatternSource, sign: 'u' | 'x', refuse: (message: string) => never): number {
  if (sign === 'x' && source.take('{')) {
    const digits = source.match(/[0-9a-fA-F]*/y);
    if (digits === '' || !source.take('}')) refuse('\\x{…} needs a hexadecimal number');
    const code = parseInt(digits, 16);
    return code > 0x10ffff ? refuse('\\x{…} is beyond Unicode') : code;
  }
  const digits = source.match(sign === 'u' ? /(?:[0-9a-fA-F]{4})?/y : /(?:[0-9a-fA-F]{2})?/y);
  if (digits === '') refuse(`\\${sign} needs ${sign === 'u' ? 'four' : 'two'} hexadecimal digits`);
  return parseInt(digits, 16);
}

/** One letter, or a name in braces; of Unicode's scripts, blocks and properties only the form is checked. */
function property(source: PatternSource, refuse: (message: string) => never): JavaEscape {
  let name: string;
  if (source.take('{')) {
    name = source.match(/[^}]*/y);
    if (!source.take('}')) refuse('the name of a property is not closed by }');
  } else name = source.next();
  return isProperty(name) ? OPAQUE : refuse(`there is no property ${name}`);
}

/** As `Pattern` looks them up. Blocks have hundreds of names in several spellings, so any name of a block counts as one. */
function isProperty(name: string): boolean {
  const [, key, value = ''] = /^([^=]*)=([^]*)$/.exec(name) ?? [];
  if (key !== undefined) {
    if (/^(?:sc|script)$/i.test(key)) return isScript(value);
    return /^(?:gc|general_category)$/i.test(key) ? PROPERTIES.has(value) : /^bl(?:k|ock)$/i.test(key) && value !== '';
  }
  if (name.startsWith('In')) return name.length > 2;
  if (name.startsWith('java')) return JAVA_PROPERTIES.has(name.slice(4));
  if (!name.startsWith('Is')) return PROPERTIES.has(name);
  const binary = name.slice(2).toUpperCase();
  return BINARY_PROPERTIES.has(binary) || PROPERTIES.has(name.slice(2)) || isScript(name.slice(2));
}

/** By its name or its code of four letters, in any case; the platform's own expressions know the same. */
function isScript(name: string): boolean {
  if (!/^[a-z_]+$/i.test(name)) return false;
  const written = name
    .toLowerCase()
    .replace(/(?:^|_)[a-z]/g, (start) => start.toUpperCase())
    .replace('Signw', 'SignW');
  try {
    return new RegExp(`\\p{Script=${written}}`, 'u').unicode;
  } catch {
    return false;
  }
}

const PROPERTIES = new Set(
  (
    'Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf L M N Z C P S LC LD L1 all ' +
    'ASCII Alnum Alpha Blank Cntrl Digit Graph Lower Print Punct Space Upper XDigit'
  ).split(' '),
);

const JAVA_PROPERTIES = new Set(
  (
    'LowerCase UpperCase Alphabetic Ideographic TitleCase Digit Defined Letter LetterOrDigit JavaIdentifierStart ' +
    'JavaIdentifierPart UnicodeIdentifierStart UnicodeIdentifierPart IdentifierIgnorable SpaceChar Whitespace ISOControl Mirrored'
  ).split(' '),
);

const BINARY_PROPERTIES = new Set(
  (
    'ALPHABETIC LETTER IDEOGRAPHIC LOWERCASE UPPERCASE TITLECASE WHITE_SPACE WHITESPACE CONTROL PUNCTUATION HEX_DIGIT HEXDIGIT ' +
    'ASSIGNED NONCHARACTER_CODE_POINT NONCHARACTERCODEPOINT DIGIT ALNUM BLANK GRAPH PRINT WORD JOIN_CONTROL JOINCONTROL EMOJI ' +
    'EMOJI_PRESENTATION EMOJI_MODIFIER EMOJI_MODIFIER_BASE EMOJI_COMPONENT EXTENDED_PICTOGRAPHIC'
  ).split(' '),
);
