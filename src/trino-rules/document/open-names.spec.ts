import { javaPattern } from '../../../test/support/rules/java-pattern.js';
import fc from 'fast-check';
import { anyPattern } from '../../../test/support/snapshots/any-rules.js';
import { FRESH_PREFIX, namesOfOpenPattern } from './open-names.js';
import { matches } from './pattern-meaning.js';
import { readPattern } from './pattern.js';
import { WorkBudget } from './work-budget.js';

const most = (maxNames: number, steps = Infinity) => ({ maxNames, stepsPerName: 1, budget: new WorkBudget(steps) });
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
  ])('of %s', (text, spelledNames, witnesses) => {
    expect(namesOfOpenPattern(read(text), most(100))).toEqual({ spelledNames, witnesses });
  });

  it('are one where they would be more than may be spelled out', () => {
    expect(namesOfOpenPattern(read('a|b|c.*'), most(1))).toEqual({ spelledNames: [], witnesses: [`c${FRESH_PREFIX}`] });
    const many = '(a.*|b)'.repeat(100);
    expect(namesOfOpenPattern(read(many), most(100)).witnesses).toHaveLength(1);
  });

  it('are one where they would be longer than may be spelled out', () => {
    const long = 'x'.repeat(1_000);
    const longNames = `${long}[a-z][a-z][a-z]`;
    expect(namesOfOpenPattern(read(`${longNames}|y.*`), most(20_000, 1e6))).toEqual({
      spelledNames: [],
      witnesses: [`y${FRESH_PREFIX}`],
    });
    const longWitnesses = `${long}(${Array.from({ length: 100 }, (_, i) => `${i}.*`).join('|')})`;
    expect(namesOfOpenPattern(read(longWitnesses), most(20_000, 1e7)).witnesses).toHaveLength(100);
    expect(namesOfOpenPattern(read(longWitnesses), most(20_000, 1e5)).witnesses).toHaveLength(1);
  });

  it('are no longer than names are, however often a part is repeated', () => {
    const pattern = javaPattern('(((a{900}){900}){900}){900}.*');
    expect(namesOfOpenPattern(pattern, most(100)).witnesses[0]?.length).toBeLessThan(3_000);
  });

  it('match it', () => {
    fc.assert(
      fc.property(anyPattern(), (text) => {
        const pattern = read(text);
        const { spelledNames, witnesses } = namesOfOpenPattern(pattern, most(100));
        expect([...spelledNames, ...witnesses].filter((name) => !matches(pattern, name))).toEqual([]);
      }),
    );
  });
});
