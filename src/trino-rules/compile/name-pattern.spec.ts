import fc from 'fast-check';
import { matchingStrings } from '../document/pattern-meaning.js';
import { readPattern } from '../document/pattern.js';
import { patternOfNames } from './name-pattern.js';

describe('a pattern for a list of names', () => {
  it.each([
    [['ana'], 'ana'],
    [['user_1', 'user_2', 'user_3', 'user_5'], 'user_[1235]'],
    [['user_1', 'user_2', 'user_3', 'user_4'], 'user_[1-4]'],
    [['user_1', 'user_10', 'user_20', 'user_2'], 'user_[12]0?'],
    [['anna_koch', 'anna_roth', 'ben_koch'], 'anna_(koch|roth)|ben_koch'],
    [['ab', 'ac', 'b'], 'a[bc]|b'],
    [['a', 'ab', 'ac'], 'a[bc]?'],
    [['a.b', 'a-b'], 'a-b|a[.]b'],
    [['[q]', '^', '\\', '|'], '\\[q\\]|\\\\|\\^|[|]'],
    [['😀', '😁'], '😀|😁'],
    [['é', 'éa'], 'éa?'],
    [['aaé', 'aa'], 'aa(é)?'],
  ])('%j is %s', (names, pattern) => {
    expect(patternOfNames(names)).toBe(pattern);
  });

  it('means these names and no other, whatever they hold', () => {
    const plain = fc.string({ unit: fc.constantFrom('a', 'b', '0', '1', '2', '3', '_'), minLength: 1, maxLength: 4 });
    const hostile = fc.string({
      unit: fc.constantFrom('a', '.', '*', '|', '\\', '[', ']', '^', '-', 'é', '😀', '日'),
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(fc.uniqueArray(fc.oneof(plain, hostile), { minLength: 1, maxLength: 40 }), (names) => {
        const reading = readPattern(patternOfNames(names));
        const matched = reading.kind === 'pattern' ? matchingStrings(reading.pattern, 1_000) : null;
        expect([...(matched ?? [])].sort()).toEqual([...names].sort());
      }),
      { numRuns: 1_000 },
    );
  });

  it('is the same for the same names in any order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1 }), (names) => {
        expect(patternOfNames([...names].reverse())).toBe(patternOfNames(names));
      }),
    );
  });

  it('never compiles an empty list to a pattern that matches all names', () => {
    expect(() => patternOfNames([])).toThrow('an empty pattern would mean everybody to the engine');
  });
});
