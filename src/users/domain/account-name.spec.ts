import { accountKey, accountNameProblem, usernameProblem } from './account-name.js';

describe('the name of an account that does not register', () => {
  it.each(['a', 'ana@example.org', 'Ana Müller', "o'neill", 'a:b', 'x <y>', '李', 'x'.repeat(128), '𝒳'.repeat(128)])(
    'can be %j',
    (name) => expect(accountNameProblem(name)).toBeNull(),
  );

  it.each([
    ['', 'must have 1 to 128 characters'],
    ['x'.repeat(129), 'must have 1 to 128 characters'],
    ['a\nb', 'must not hold control, format or unassigned characters'],
    ['a\u200bb', 'must not hold control, format or unassigned characters'],
    ['\u202eana', 'must not hold control, format or unassigned characters'],
    ['a\u{e0001}', 'must not hold control, format or unassigned characters'],
    ['a\u0378', 'must not hold control, format or unassigned characters'],
    ['a\ud800', 'must not hold control, format or unassigned characters'],
    [' ana', 'must not begin or end with a blank'],
    ['ana\u00a0', 'must not begin or end with a blank'],
    ['\u3000', 'must not begin or end with a blank'],
    ['Mu\u0308ller', 'must be in Unicode normalization form NFC'],
    ['\u212aelvin', 'must be in Unicode normalization form NFC'],
    ['service-account-etl', 'must not begin with service-account-, as service accounts do'],
    ['Service-Account-', 'must not begin with service-account-, as service accounts do'],
  ])('cannot be %j', (name, problem) => expect(accountNameProblem(name)).toBe(problem));

  it.each([
    ['ana', 'ANA'],
    ['Ünal', 'ünal'],
    ['ΟΔΟΣ', 'οδος'],
    ['straße', 'STRASSE'],
  ])('is one in any case: %s, %s', (one, other) => expect(accountKey(one)).toBe(accountKey(other)));

  it('is another one with other letters', () => expect(accountKey('Unal')).not.toBe(accountKey('Ünal')));
});

describe('a username', () => {
  it.each(['abc', 'A_1', '___', '123', 'a'.repeat(64)])('may be %s', (name) =>
    expect(usernameProblem(name)).toBeNull(),
  );

  it.each(['', 'ab', 'a'.repeat(65), 'a b', 'abc\n', 'a-b', 'añb', 'ａbc', 'a\u200bbc', '١٢٣', 'abc\0'])(
    'may not be %j',
    (name) => expect(usernameProblem(name)).not.toBeNull(),
  );

  it('could be the name of any other account', () => {
    for (const name of ['abc', 'A_1', 'x'.repeat(64)]) {
      expect([usernameProblem(name), accountNameProblem(name)]).toEqual([null, null]);
    }
  });
});
