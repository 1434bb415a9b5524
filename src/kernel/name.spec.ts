import { nameProblem } from './name.js';

describe('a name', () => {
  it.each(['a', 'service-account-etl', 'señor', '部署', 'a b', '😀', 'x'.repeat(128), '😀'.repeat(128)])(
    'may be %j',
    (name) => expect(nameProblem(name)).toBeNull(),
  );

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(129)],
    ['a control character (Cc)', 'a\u0000b'],
    ['a line end (Cc)', 'a\nb'],
    ['another line end (Cc)', 'a\u0085b'],
    ['a direction mark (Cf)', 'etl\u202e'],
    ['a joiner (Cf)', 'a\u200db'],
    ['a soft hyphen (Cf)', 'a\u00adb'],
    ['a tag beyond the first plane (Cf)', 'a\u{e0041}'],
    ['a line separator (Zl)', 'a\u2028b'],
    ['a paragraph separator (Zp)', 'a\u2029b'],
    ['half a surrogate pair (Cs)', 'a\ud800'],
    ['a private character (Co)', 'a\ue000'],
    ['an unassigned character (Cn)', 'a\u0378'],
    ['a noncharacter (Cn)', 'a\uffff'],
  ])('may not be %s', (_, name) => expect(nameProblem(name)).not.toBeNull());
});
