import fc from 'fast-check';

/** Plain ones first; then those that cases, lines, planes, halves of pairs or syntax set apart. */
const CHARACTERS = [
  ...Array.from('abAB09_-k. '),
  ...Array.from('KsSiI&#~!@$^{}:=<>,QExuNp'),
  ...['é', 'É', 'ß', 'ÿ', 'İ', 'ı', 'ſ', '\u212a', 'µ', 'å', '\u212b', '\u0301'],
  ...['\n', '\r', '\t', '\u0001', '\u0085', '\u2028', '\uffff', '😀', '\u{20000}', '\u{10ffff}', '\ud83d', '\ude00'],
];
const PREDEFINED = ['\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\h', '\\H', '\\v', '\\V', '\\R', '\\X'];
const ESCAPES = [
  ...['\\t', '\\n', '\\r', '\\f', '\\a', '\\e', '\\cA', '\\c@', '\\c{', '\\0', '\\07', '\\012', '\\0377', '\\0400'],
  ...['\\x41', '\\x4', '\\x{41}', '\\x{1F600}', '\\x{D83D}', '\\x{110000}', '\\u0041', '\\u004', '\\ud83d\\ude00'],
  ...[
    '\\ud83d',
    '\\ude00',
    '\\.',
    '\\\\',
    '\\[',
    '\\]',
    '\\&',
    '\\-',
    '\\^',
    '\\$',
    '\\{',
    '\\ ',
    '\\#',
    '\\_',
    '\\é',
    '\\😀',
  ],
  ...['\\y', '\\N', '\\N{LATIN SMALL LETTER A}', '\\', '\\Q', '\\E', '\\Qa.b\\E'],
];
const PROPERTIES = [
  ...[
    '\\p{L}',
    '\\pL',
    '\\P{L}',
    '\\PL',
    '\\p{Lower}',
    '\\p{Upper}',
    '\\P{Upper}',
    '\\p{Alpha}',
    '\\p{Punct}',
    '\\p{Graph}',
  ],
  ...['\\p{Print}', '\\p{Blank}', '\\p{Cntrl}', '\\p{XDigit}', '\\p{Space}', '\\p{Digit}', '\\p{Alnum}', '\\p{ASCII}'],
  ...[
    '\\p{all}',
    '\\p{L1}',
    '\\p{IsLatin}',
    '\\p{InGreek}',
    '\\p{blk=basic latin}',
    '\\p{javaLowerCase}',
    '\\p{X}',
    '\\p{',
  ],
];
const BOUNDARIES = [
  '\\b',
  '\\B',
  '\\A',
  '\\G',
  '\\Z',
  '\\z',
  '\\b{g}',
  '\\b{w}',
  '\\1',
  '\\2',
  '\\10',
  '\\k<n>',
  '\\k<m>',
];
const COUNTS = ['*', '+', '?', '*?', '+?', '??', '{0}', '{2}', '{0,1}', '{1,2}', '{2,3}', '{0,}', '{2,}', '{1,2}?'];
const RARE_COUNTS = ['*+', '++', '?+', '{1,2}+', '{,2}', '{', '{2', '{2,1}', '{ 2}', '{2147483647}', '{2147483648}'];
const GROUPS = ['(', '(?:', '(?<n>', '(?i:', '(?-i:', '(?s:', '(?x:', '(?d:', '(?i-s:'];
const RARE_GROUPS = ['(?=', '(?!', '(?<=', '(?<!', '(?>', '(?<1>', '(?P<n>', '(?m:', '(?U:', '(?c:'];
const PIECES = [
  '^',
  '$',
  '(',
  ')',
  '[',
  ']',
  '|',
  '(?',
  '(?i)',
  '(?-i)',
  '(?s)',
  '(?x)',
  '(?iu)',
  '(?d)',
  '(?i--m)',
  '(?#a)',
];

const one = (...from: readonly string[]) => fc.constantFrom(...from);
const mostly = (usual: readonly string[], rare: readonly string[]) =>
  fc.oneof({ weight: 9, arbitrary: one(...usual) }, { weight: 1, arbitrary: one(...rare) });
const character = mostly(CHARACTERS.slice(0, 12), CHARACTERS);
const escaped = mostly([...PREDEFINED, ...ESCAPES], [...PROPERTIES, ...BOUNDARIES]);

/** Classes with ranges, classes in them and intersections. */
const { characterClass } = fc.letrec<{ inClass: string; characterClass: string }>((tie) => ({
  inClass: fc.oneof(
    { maxDepth: 3 },
    { weight: 6, arbitrary: fc.oneof(character, one(...CHARACTERS)) },
    { weight: 3, arbitrary: fc.tuple(one(...CHARACTERS), one(...CHARACTERS)).map((ends) => ends.sort().join('-')) },
    { weight: 3, arbitrary: one(...PREDEFINED, ...ESCAPES, ...PROPERTIES) },
    { weight: 2, arbitrary: one('&&', '&', '-', '^') },
    { weight: 2, arbitrary: tie('characterClass') },
  ),
  characterClass: fc
    .tuple(one('[', '[', '[^'), fc.array(tie('inClass'), { minLength: 1, maxLength: 4 }), mostly([']'], ['']))
    .map(([open, members, close]) => open + members.join('') + close),
}));

const { pattern } = fc.letrec<{ atom: string; piece: string; pattern: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 4 },
    { weight: 8, arbitrary: character },
    { weight: 2, arbitrary: fc.constant('.') },
    { weight: 3, arbitrary: escaped },
    { weight: 4, arbitrary: characterClass },
    { weight: 1, arbitrary: one(...PIECES) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(mostly(GROUPS, RARE_GROUPS), tie('pattern'), mostly([')'], ['']))
        .map((parts) => parts.join('')),
    },
  ),
  piece: fc
    .tuple(
      tie('atom'),
      fc.oneof({ weight: 2, arbitrary: fc.constant('') }, mostly(COUNTS, RARE_COUNTS)),
      mostly([''], ['|']),
    )
    .map((parts) => parts.join('')),
  pattern: fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
}));

export interface PatternAndNames {
  pattern: string;
  names: string[];
}

/** Patterns of `java.util.regex`, good and bad, each with names that it may match. */
export function anyJavaPattern(): fc.Arbitrary<PatternAndNames> {
  return pattern.chain((text) => {
    const own = Array.from(text);
    const letter = own.length === 0 ? character : fc.oneof(one(...own), character, one(...CHARACTERS));
    return fc.record({
      pattern: fc.constant(text),
      names: fc.uniqueArray(
        fc.array(letter, { maxLength: 5 }).map((letters) => letters.join('')),
        { minLength: 6, maxLength: 10 },
      ),
    });
  });
}
