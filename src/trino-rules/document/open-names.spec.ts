import fc from 'fast-check';
import { anyPattern } from '../../../test/support/any-rules.js';
import { FRESH_PREFIX, openNames } from './open-names.js';
import { matches } from './pattern-meaning.js';
import { readPattern } from './pattern.js';

const read = (text: string) => {
  const reading = readPattern(text);
  if (reading.kind === 'refused') throw new Error(reading.reason);
  return reading.pattern;
};

describe('the names of an open pattern', () => {
  it.each([
    ['.*', [], [FRESH_PREFIX]],
    ['sales|tmp.*', ['sales'], [`tmp${FRESH_PREFIX}`]],
    ['tmp.*|a|b[01]', ['a', 'b0', 'b1'], [`tmp${FRESH_PREFIX}`]],
    ['sales_(eu|tmp.*)', ['sales_eu'], [`sales_tmp${FRESH_PREFIX}`]],
    ['(tmp.*)?x', ['x'], [`tmp${FRESH_PREFIX}x`]],
    ['a.*|b.*', [], [`a${FRESH_PREFIX}`, `b${FRESH_PREFIX}`]],
  ])('of %s', (text, spelled, witnesses) => {
    expect(openNames(read(text), 100)).toEqual({ spelled, witnesses });
  });

  it('are one where they would be more than may be spelled out', () => {
    expect(openNames(read('a|b|c.*'), 1)).toEqual({ spelled: [], witnesses: [`c${FRESH_PREFIX}`] });
    const many = '(a.*|b)'.repeat(100);
    expect(openNames(read(many), 100).witnesses).toHaveLength(1);
  });

  it('match it', () => {
    fc.assert(
      fc.property(anyPattern(), (text) => {
        const pattern = read(text);
        const { spelled, witnesses } = openNames(pattern, 100);
        expect([...spelled, ...witnesses].filter((name) => !matches(pattern, name))).toEqual([]);
      }),
    );
  });
});
