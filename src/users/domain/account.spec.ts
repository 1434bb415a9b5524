import fc from 'fast-check';
import { emailProblem, takesLastAdministrator } from './account.js';

describe('the last administrator', () => {
  it.each<[string, number[], boolean, 'admin' | 'user', boolean]>([
    ['is taken by a demotion', [1], true, 'user', true],
    ['is taken by a deactivation', [1], false, 'admin', true],
    ['is not taken by a change that leaves them one', [1], true, 'admin', false],
    ['is not the one of two', [1, 2], false, 'user', false],
    ['is another account', [2], false, 'user', false],
    ['was gone before', [], false, 'user', false],
  ])('%s', (_, administrators, isActive, role, taken) => {
    expect(takesLastAdministrator(administrators, { id: 1, role, isActive })).toBe(taken);
  });
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
