import fc from 'fast-check';
import { anyPattern, RULE_NAMES } from '../../../test/support/snapshots/any-rules.js';
import { readJavaPattern } from './java-pattern.js';
import { matches } from '../../trino-rules/document/pattern-meaning.js';
import { readPattern } from '../../trino-rules/document/pattern.js';

/** Verdicts of Trino 483 on JDK 25; `test/stack/engine-oracle.stack-spec.ts` asks it about the corpus once more. */
describe('a pattern of Java', () => {
  it.each([
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
    '[a',
    '(a',
    'a)',
    '(?i)*',
    '(?z)a',
    '(?P<n>a)',
    '(?<n>a)(?<n>b)',
    '(?<1>a)',
    '\\y',
    '\\k<n>',
    '\\k',
    '\\u41',
    '\\u{41}',
    '\\x4',
    '\\E',
    '\\p',
    '\\p{',
    '[\\b]',
    '[a-\\d]',
    '(?#c)',
    '(?',
    '(?:',
    '.{99999999999}',
    'a{2}*',
    '*',
    'a|*',
    '(+)',
    '[\\R]',
    '{user}',
    'orders\\',
    '(?i--m)',
    '(?<n>a)\\k<m>',
    // Unclosed as well as deep.
    '('.repeat(150),
  ])('is refused: %s', (text) => expect(readJavaPattern(text).kind).toBe('refused'));

  it.each([
    '{2}',
    'a{2}{3}',
    '}',
    '[]a]',
    '[^]a]',
    '[a-]',
    '(?i)a',
    '(?=a)*',
    'a*?',
    '\\u0041',
    '\\Q.\\E',
    '\\Qab',
    '[\\d-z]',
    '(?)',
    '|',
    'a|',
    '()',
    '^*',
    'a{2147483647}',
    '\\é',
    '\\_',
    '[\\Qa]\\E]',
    '[]-a]',
    'x{0}',
    '\\Qa.\\E{2}',
    '('.repeat(150) + ')'.repeat(150),
  ])('is read: %s', (text) => expect(readJavaPattern(text).kind).toBe('read'));

  // Java takes some of these and refuses others.
  it.each([
    '[&&]',
    '\\c',
    '\\0',
    '\\08',
    '\\x{110000}',
    '\\p{Foo}',
    '\\p{constructor}',
    '\\N',
    'a+++',
    '(?x)[ ]',
    '(?x)[#]',
    '(?x)a{ 2}',
    '\\p{alpha}',
    '\\b{x}',
    '[\\dx&&]',
    '(?<=\\2)(a)(b)',
    '(?<=(a|b)*)c',
    '(?<=(?:a|bc){2,3})d',
    '\\N{é}',
    '\\p{InNoSuch}',
    '\\p{blk=nosuch}',
    '\\p{InGreek_and_Coptic}',
    '\\p{sc=nosuch}',
    '\\ud83d\\uzzzz',
    '[a&&b]',
    '[a[b]]',
    '(?>a)',
    'a++',
    '\\cA',
    '\\07',
    '\\1',
    '(a)\\2',
    '\\x{41}',
    '\\p{L}',
    '\\pL',
    '\\b{g}',
    'a{2}+',
    '\\p{IsLatin}',
    '(?<=a*)b',
    '[x&&]',
    '[\\dé日&&]',
    '(?<=(a|bc)?)d',
    '(?c)a',
    '\\p{blk=greek}',
    '\\p{Isalpha}',
    '(?U)\\p{alpha}',
    '\\p{IsGaray}',
    '\\p{gc=javaDigit}',
    '\\p{InGREEK EXTENDED}',
    '\\N{DIGIT ONE}',
    '(?x) a {2 }',
    '(?x)( ?: a ) b',
    '(?x)[\\ ]',
    '(?x)\\# # a # itself',
    '(?x: [a-z ]+ )[ ]',
    '('.repeat(5_000),
    '['.repeat(5_000),
  ])('is not judged: %s', (text) => expect(readJavaPattern(text).kind).toBe('not-judged'));

  it.each<[string, string[], string[]]>([
    ['(?i)ana|BEN', ['ana', 'ANA', 'ben'], ['an']],
    ['(?i:a)b', ['ab', 'Ab'], ['aB']],
    ['(?i)[^a-c]', ['d', '-'], ['a', 'B']],
    ['\\w{2,3}', ['ab', 'a_1'], ['a', 'abcd', 'a-']],
    ['\\Qa.b\\E+', ['a.b', 'a.bb'], ['axb', 'a.']],
    ['^ana$', ['ana'], ['xana']],
    ['[^\\d]', ['a', '-'], ['1', 'ab']],
    ['a?b*', ['', 'a', 'bbb'], ['ba']],
    ['.', ['a', '😀', '\ud83d'], ['😀😀', '', '\u0085']],
    ['[^a]', ['😀', '日'], ['a', '😀b']],
    ['[😀-😃]x', ['😁x'], ['😄x', '😁']],
    ['\\ud83d(?:\\ude00)', [], ['😀']],
    ['(?:|x|(?=y)y)z', ['z', 'xz', 'yz'], ['yxz']],
    ['(?:(?=a)a){0,2}b', ['b', 'ab', 'aab'], ['aaab']],
    ['(?s).+', ['a\n'], ['']],
    ['(^a|b)c$', ['ac', 'bc'], ['abc']],
    ['\\p{Punct}\\P{Lower}', ['-A', '!1'], ['-a', 'aA']],
  ])('%s means the whole name', (text, those, others) => {
    const reading = readJavaPattern(text);
    const language = (name: string) =>
      reading.kind === 'read' && reading.pattern !== null && matches(reading.pattern, name);
    expect([...those, ...others].filter(language)).toEqual(those);
  });

  it('has no pattern without look-aheads where their alternatives are too many together', () => {
    const excluding = (count: number) => readJavaPattern(`(?!${Array(count).fill('abc').join('|')}).*`);
    expect(excluding(100)).toMatchObject({ kind: 'read', pattern: { options: [expect.anything()] } });
    expect(excluding(5_000)).toMatchObject({ kind: 'read', pattern: null });
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
