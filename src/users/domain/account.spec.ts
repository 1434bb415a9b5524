import fc from 'fast-check';
import {
  accountKey,
  accountNameProblem,
  activationAfter,
  emailProblem,
  passwordProblem,
  removesLastAdministrator,
  usernameProblem,
} from './account.js';

describe('the last administrator', () => {
  it.each<[string, number[], boolean, 'admin' | 'user', boolean]>([
    ['is taken by a demotion', [1], true, 'user', true],
    ['is taken by a deactivation', [1], false, 'admin', true],
    ['is not taken by a change that leaves them one', [1], true, 'admin', false],
    ['is not the one of two', [1, 2], false, 'user', false],
    ['is another account', [2], false, 'user', false],
    ['was gone before', [], false, 'user', false],
  ])('%s', (_, administrators, isActive, role, taken) => {
    expect(removesLastAdministrator(administrators, { id: 1, role, isActive })).toBe(taken);
  });
});

describe('a deactivation by SCIM', () => {
  const activation = { isActive: false, deactivatedBy: 'scim' } as const;

  it.each([
    ['stays as it is in a change of something else', undefined, activation],
    ['is taken over by the same word of an administrator', false, { isActive: false, deactivatedBy: 'administrator' }],
    ['ends with an activation', true, { isActive: true, deactivatedBy: null }],
  ])('%s', (_, isActive, expected) => expect(activationAfter(activation, { isActive })).toEqual(expected));
});

const label = (length: number): string => 'a'.repeat(length);

describe('an e-mail address', () => {
  it.each([
    'ana@example.org',
    'Ana.Maria+news@Mail.Example.ORG',
    "o'hara_1/2=x?y^z{|}~!#$%&*@example.org",
    'a@b.co',
    '1@1.example',
    'x@xn--bcher-kva.example',
    'x@a-b.example',
    `${label(64)}@example.org`,
    `a@${label(63)}.${label(63)}.${label(63)}.${label(56)}.org`,
  ])('may be %s', (address) => expect(emailProblem(address)).toBeNull());

  it.each([
    '',
    'ana',
    'ana@',
    '@example.org',
    'ana@example',
    'ana@example.',
    'ana@.example.org',
    'ana@example..org',
    '.ana@example.org',
    'ana.@example.org',
    'an..a@example.org',
    'ana@exa_mple.org',
    'ana@-example.org',
    'ana@example-.org',
    'ana@192.0.2.7',
    'ana@[192.0.2.7]',
    'ana@example.123',
    'ana@@example.org',
    'a@b@example.org',
    'Ana <ana@example.org>',
    '"ana maria"@example.org',
    'ana(comment)@example.org',
    'ana@example.org, bo@example.org',
    ' ana@example.org',
    'ana@example.org ',
    'ana@example.org\n',
    'an a@example.org',
    'ana\u200b@example.org',
    'ana@example\u200b.org',
    'ana\u00a0@example.org',
    'ａna@example.org',
    'ána@example.org',
    'ana@exämple.org',
    'ana@example。org',
    'ana\0@example.org',
    `${label(65)}@example.org`,
    `a@${label(64)}.org`,
    `a@${label(63)}.${label(63)}.${label(63)}.${label(57)}.org`,
  ])('may not be %j', (address) => expect(emailProblem(address)).not.toBeNull());

  it('holds nothing but printing ASCII', () => {
    fc.assert(
      fc.property(
        fc.emailAddress(),
        fc.nat(),
        fc
          .nat(0x10ffff)
          .map((codePoint) => String.fromCodePoint(codePoint))
          .filter((character) => /[^!-~]/.test(character)),
        (address, at, odd) => {
          const place = at % (address.length + 1);
          expect(emailProblem(address.slice(0, place) + odd + address.slice(place))).not.toBeNull();
        },
      ),
    );
  });
});

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

describe('a password', () => {
  it.each([
    ['8 letters', 'abcdefgh'],
    ['128 letters', 'a'.repeat(128)],
    ['8 emoji, 16 units of UTF-16', '🔑'.repeat(8)],
    ['128 emoji, 512 bytes', '🔑'.repeat(128)],
    ['8 spaces: no other rule than the length', '        '],
    ['a combining accent, taken as it comes', 'passworé'],
  ])('may be %s', (_, password) => expect(passwordProblem(password)).toBeNull());

  it.each([
    ['7 letters', 'abcdefg'],
    ['7 emoji, 14 units of UTF-16', '🔑'.repeat(7)],
    ['129 letters', 'a'.repeat(129)],
    ['129 emoji', '🔑'.repeat(129)],
    ['nothing', ''],
    ['NUL, after which bcrypt repeats its key', 'aaaaaaaa\0aaaaaaaa'],
    ['half a character', 'abcdefgh\ud83d'],
    ['the other half first', '\udd11abcdefgh'],
  ])('may not be %s', (_, password) => expect(passwordProblem(password)).not.toBeNull());

  it('is counted in code points', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', ' ', 'é', '語', '🔑', '\u{10ffff}'), maxLength: 140 }),
        (password) => {
          const length = Array.from(password).length;
          expect(passwordProblem(password) === null).toBe(length >= 8 && length <= 128);
        },
      ),
    );
  });
});
