import { hashSync } from 'bcryptjs';
import fc from 'fast-check';
import { hash, matches } from './password.worker.js';

const COST = 4;

describe('password hashes', () => {
  it('match their own password and no other', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }), fc.string(), (password, other) => {
        fc.pre(!password.includes('\0') && other !== password);
        const stored = hash({ password, cost: COST });
        expect(matches({ password, hash: stored, cost: COST })).toBe(true);
        expect(matches({ password: other, hash: stored, cost: COST })).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it.each([71, 72, 73, 128])('depend on the last character of %i bytes', (length) => {
    const stored = hash({ password: 'a'.repeat(length - 1) + 'b', cost: COST });
    expect(matches({ password: 'a'.repeat(length - 1) + 'c', hash: stored, cost: COST })).toBe(false);
  });

  it.each(['$2a$', '$2b$', '$2y$'])('of other tools are taken, with %s', (version) => {
    const foreign = hashSync('correct horse', `${version}04$abcdefghijklmnopqrstuu`);
    expect(foreign.startsWith(version)).toBe(true);
    expect(matches({ password: 'correct horse', hash: foreign, cost: COST })).toBe(true);
    expect(matches({ password: 'correct house', hash: foreign, cost: COST })).toBe(false);
  });

  it('of unknown users match nothing', () => {
    expect(matches({ password: 'correct horse', hash: null, cost: COST })).toBe(false);
  });
});
