import fc from 'fast-check';
import { passwordProblem } from './password.js';

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
