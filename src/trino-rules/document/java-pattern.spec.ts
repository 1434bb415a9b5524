import fc from 'fast-check';
import { anyPattern, RULE_NAMES } from '../../../test/support/snapshots/any-rules.js';
import { readJavaPattern } from './java-pattern.js';
import { matches } from './pattern-meaning.js';
import { readPattern } from './pattern.js';

/** Verdicts of Trino 483 on JDK 25; `test/stack/engine-oracle.stack-spec.ts` asks it about the corpus once more. */
describe('a pattern of Java', () => {
  it.each([
    ...[
      'a**',
      'a{',
      'a{b}',
      'a{,3}',
      'a{1',
      'a{2,1}',
      '{',
      '[]',
      '[^]',
      '[z-a]',
      '[&&]',
      '[a',
      '(a',
      'a)',
      '(?i)*',
      '(?z)a',
    ],
    ...[
      '(?P<n>a)',
      '(?<n>a)(?<n>b)',
      '(?<1>a)',
      '\\y',
      '\\c',
      '\\0',
      '\\08',
      '\\k<n>',
      '\\k',
      '\\u41',
      '\\u{41}',
      '\\x4',
    ],
    ...[
      '\\x{110000}',
      '\\E',
      '\\p{Foo}',
      '\\p',
      '\\p{',
      '\\N',
      '[\\b]',
      '[a-\\d]',
      '(?#c)',
      '(?',
      '(?:',
      '.{99999999999}',
    ],
    ...[
      'a+++',
      'a{2}*',
      '*',
      'a|*',
      '(+)',
      '[\\R]',
      '(?x)[ ]',
      '(?x)[#]',
      '(?x)a{ 2}',
      '\\p{alpha}',
      '{user}',
      'orders\\',
      '\\b{x}',
    ],
    ...[
      '[\\dx&&]',
      '(?<=\\2)(a)(b)',
      '(?<=(a|b)*)c',
      '(?<=(?:a|bc){2,3})d',
      '\\N{é}',
      '\\p{InNoSuch}',
      '\\p{blk=nosuch}',
      '\\p{InGreek_and_Coptic}',
    ],
    // Where the stack of Java ends, or not far before.
    ...[...['(', '(?<=', '['].map((sign) => sign.repeat(5_000)), `${'('.repeat(790)}${'['.repeat(1_000)}`],
    ...['\\p{sc=nosuch}', '\\ud83d\\uzzzz', '(?i--m)', '(?<n>a)\\k<m>'],
  ])('is refused: %s', (text) => expect(readJavaPattern(text).kind).toBe('refused'));

  it.each([
    ...[
      '{2}',
      'a{2}{3}',
      '}',
      '[]a]',
      '[^]a]',
      '[a-]',
      '[a&&b]',
      '[a[b]]',
      '(?i)a',
      '(?=a)*',
      '(?>a)',
      'a++',
      'a*?',
      '\\cA',
      '\\07',
    ],
    ...[
      '\\1',
      '(a)\\2',
      '\\u0041',
      '\\x{41}',
      '\\Q.\\E',
      '\\Qab',
      '\\p{L}',
      '\\pL',
      '\\b{g}',
      '[\\d-z]',
      '(?)',
      '|',
      'a|',
      '()',
      '^*',
    ],
    ...[
      'a{2147483647}',
      '\\é',
      '\\_',
      'a{2}+',
      '[\\Qa]\\E]',
      '[]-a]',
      '\\p{IsLatin}',
      'x{0}',
      '(?<=a*)b',
      '\\Qa.\\E{2}',
    ],
    ...['[x&&]', '[\\dé日&&]', '(?<=(a|bc)?)d', '(?c)a', '\\p{blk=greek}', '\\p{Isalpha}', '(?U)\\p{alpha}'],
    ...[
      '\\p{IsGaray}',
      '\\p{gc=javaDigit}',
      '\\p{InGREEK EXTENDED}',
      '('.repeat(300) + ')'.repeat(300),
      '['.repeat(700) + 'a' + ']'.repeat(700),
      `[${'a-z&&'.repeat(700)}a]`,
      '\\N{DIGIT ONE}',
    ],
    ...['(?x) a {2 }', '(?x)( ?: a ) b', '(?x)[\\ ]', '(?x)\\# # a # itself', '(?x: [a-z ]+ )[ ]'],
  ])('is read: %s', (text) => expect(readJavaPattern(text).kind).toBe('read'));

  it.each<[string, string[], string[]]>([
    ['(?i)ana|BEN', ['ana', 'ANA', 'ben'], ['an']],
    ['(?i:a)b', ['ab', 'Ab'], ['aB']],
    ['(?i)[^a-c]', ['d', '-'], ['a', 'B']],
    ['(?i)[A-Z&&[^q]]', ['a', 'R'], ['q', 'Q']],
    ['[a-c&&[^b]]+', ['a', 'ca'], ['b', 'ab', '']],
    ['\\w{2,3}', ['ab', 'a_1'], ['a', 'abcd', 'a-']],
    ['\\Qa.b\\E+', ['a.b', 'a.bb'], ['axb', 'a.']],
    ['^ana$', ['ana'], ['xana']],
    ['[^\\d]', ['a', '-'], ['1', 'ab']],
    ['a?b*', ['', 'a', 'bbb'], ['ba']],
    // Java adds what stands behind a third & to the side before the other two.
    ['[a&&&b]', ['a', 'b', '&'], ['c']],
    ['[ab&&[bc]&d]', ['a', 'b', '&', 'd'], ['c']],
    ['.', ['a', '😀', '\ud83d'], ['😀😀', '', '\u0085']],
    ['[^a]', ['😀', '日'], ['a', '😀b']],
    ['[😀-😃]x', ['😁x'], ['😄x', '😁']],
    ['\\ud83d\\ude00', ['😀'], ['\ud83d']],
    ['\\x{1F600}+', ['😀', '😀😀'], []],
    // Two halves that were written apart are two characters, and no name has these beside each other.
    ['\\ud83d(?:\\ude00)', [], ['😀']],
    ['\\ud83d.*', ['\ud83d', '\ud83da'], ['😀', '😀a']],
    ['(?s).+', ['a\n'], ['']],
    ['(?x) a b # c', ['ab'], ['a b', 'ab # c']],
    ['(^a|b)c$', ['ac', 'bc'], ['abc']],
    ['\\p{Punct}\\P{Lower}', ['-A', '!1'], ['-a', 'aA']],
  ])('%s means the whole name', (text, those, others) => {
    const reading = readJavaPattern(text);
    const language = (name: string) =>
      reading.kind === 'read' && reading.pattern !== null && matches(reading.pattern, name);
    expect([...those, ...others].filter(language)).toEqual(those);
  });

  it('means the same as in the common subset, where that has it', () => {
    fc.assert(
      fc.property(anyPattern(), fc.constantFrom(...RULE_NAMES), (text, name) => {
        const common = readPattern(text);
        const java = readJavaPattern(text);
        fc.pre(common.kind === 'pattern');
        expect(java.kind === 'read' && java.pattern !== null && matches(java.pattern, name)).toBe(
          matches(common.pattern, name),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
