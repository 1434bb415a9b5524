import fc from 'fast-check';
import { anyPattern } from '../../../test/support/snapshots/any-rules.js';
import { matchingStrings, matches } from './pattern-meaning.js';
import { readPattern, type Pattern } from './pattern.js';
import { BudgetExceeded, WorkBudget } from './work-budget.js';

describe('a pattern', () => {
  it.each<[string, string[]]>([
    ['orders', ['orders']],
    ['a|bo|cy_1', ['a', 'bo', 'cy_1']],
    ['e[.]u', ['e.u']],
    ['e\\.u', ['e.u']],
    ['schema_[0-3]', ['schema_0', 'schema_1', 'schema_2', 'schema_3']],
    ['person_1[57a]?', ['person_1', 'person_15', 'person_17', 'person_1a']],
    ['an(a|)|(bo)?b', ['ana', 'an', 'b', 'bob']],
    ['x(1|2)(a|b)', ['x1a', 'x1b', 'x2a', 'x2b']],
    ['日本|😀', ['日本', '😀']],
    ['\\[t\\]|\\^t[$]', ['[t]', '^t$']],
  ])('%s names exactly %j', (text, names) => {
    expect([...(matchingStrings(read(text), 100) ?? [])]).toEqual(names);
  });

  it('names more than a limit, or with .* no end of them', () => {
    expect(matchingStrings(read('[0-9][0-9]'), 100)?.size).toBe(100);
    expect(matchingStrings(read('[0-9][0-9]'), 99)).toBeNull();
    expect(matchingStrings(read('(a|a)(a|a)(a|a)'), 7)).toBeNull();
    expect(matchingStrings(read('a.*'), 100)).toBeNull();
  });

  it('means whole names, in their very case', () => {
    const pattern = read('finance|human_resources');
    expect(matches(pattern, 'finance')).toBe(true);
    expect(matches(pattern, 'finance_external')).toBe(false);
    expect(matches(pattern, 'Finance')).toBe(false);
  });

  it('does not run over the end of a line with .*, as Java does not', () => {
    const pattern = read('a.*');
    expect(matches(pattern, 'a😀 b')).toBe(true);
    expect(['a\n', 'a\r', 'a\u0085', 'a\u2028', 'a\u2029'].filter((name) => matches(pattern, name))).toEqual([]);
  });

  it('is matched with a name for steps that grow with both', () => {
    const open = read('.*a'.repeat(200));
    const match = (name: string, steps: number) => () => matches(open, name, new WorkBudget(steps));
    expect(match('ba'.repeat(100), 1_000_000)).not.toThrow();
    expect(match('ba'.repeat(10_000), 1_000_000)).toThrow(BudgetExceeded);
  });

  it('takes bounded time, however it is made', () => {
    expect(matches(read('(a?(a?(a?|a)|a)|a)'.repeat(30)), `${'a'.repeat(80)}b`)).toBe(false);
    expect(matches(read('.*.*.*.*.*.*.*x'), 'a'.repeat(500))).toBe(false);
  });

  it('matches the names that it expands to, and JavaScript agrees on any name', () => {
    fc.assert(
      fc.property(
        anyPattern(),
        fc.string({ unit: fc.constantFrom('a', 'b', '0', '1', '.', '_', '$', '['), maxLength: 5 }),
        (text, other) => {
          const pattern = read(text);
          const script = new RegExp(`^(?:${text})$`);
          for (const name of [...(matchingStrings(pattern, 200) ?? []), other]) {
            expect([name, matches(pattern, name)]).toEqual([name, script.test(name)]);
          }
          for (const name of matchingStrings(pattern, 200) ?? []) expect(matches(pattern, name)).toBe(true);
        },
      ),
      { numRuns: 250 },
    );
  });
});

function read(text: string): Pattern {
  const reading = readPattern(text);
  if (reading.kind === 'refused') throw new Error(`${text}: ${reading.reason}`);
  return reading.pattern;
}
