import fc from 'fast-check';
import { anyPattern, RULE_NAMES } from '../../../test/support/any-rules.js';
import { readJavaPattern } from '../document/java-pattern.js';
import { matches } from '../document/pattern-meaning.js';
import { finiteAlternatives } from './finite-alternatives.js';

const isMatched = (text: string, name: string): boolean => {
  const reading = readJavaPattern(text);
  return reading.kind === 'read' && reading.pattern !== null && matches(reading.pattern, name);
};

describe('a pattern in its lists of names and the rest', () => {
  it.each([
    ['orders|tmp_.*', ['orders', 'tmp_.*']],
    ['(orders|tmp_.*|visits)', ['orders|visits', 'tmp_.*']],
    ['a|b', ['a|b']],
    ['(a|b).*', ['(a|b).*']],
    ['(a)|(b.*)', ['(a)', '(b.*)']],
    ['(a|b)(c|d.*)', ['(a|b)(c|d.*)']],
    ['((a|b.*))', ['a', 'b.*']],
    ['()', ['()']],
    ['[|]x|y+', ['[|]x', 'y+']],
    ['\\||z*', ['\\|', 'z*']],
    ['\\Qa|b\\E|c.*', ['\\Qa|b\\E|c.*']],
    ['(?i)a|b.*', ['(?i)a|b.*']],
    ['^a$|b.*', ['^a$', 'b.*']],
  ])('%s', (text, parts) => {
    expect(finiteAlternatives(text)).toEqual(parts);
  });

  it('matches the same names', () => {
    fc.assert(
      fc.property(
        fc.array(anyPattern(), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...RULE_NAMES),
        (parts, name) => {
          const text = parts.join('|');
          expect(finiteAlternatives(text).some((part) => isMatched(part, name))).toBe(isMatched(text, name));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
