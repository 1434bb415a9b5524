import { javaPattern } from '../../../test/support/rules/java-pattern.js';
import fc from 'fast-check';
import { NameClasses, type NameKind } from './name-classes.js';
import { FRESH_PREFIX } from './open-names.js';
import { matches } from './pattern-meaning.js';
import { BudgetExceeded, WorkBudget } from './work-budget.js';

function missing(
  texts: string[],
  spelled: string[],
  nameKind: NameKind = 'object',
  presentNames = [FRESH_PREFIX],
): string[] {
  const request = { patterns: texts.map(javaPattern), nameKind, presentNames, spelledNames: new Set(spelled) };
  return new NameClasses(new WorkBudget(50_000_000)).missingNames(request);
}

describe('the names that stand for all others', () => {
  it.each<[patterns: string[], spelled: string[], missing: string[]]>([
    [['tmp_.*'], [], ['tmp_']],
    [['\\w+'], [], ['-']],
    [['[a-f]+', '[d-h]+'], [], ['a', 'd', 'g']],
    [['[a-f]+'], ['a', 'b'], ['aa']],
    // Only the spelled one is matched by both.
    [['[^b]+', 'a|b+'], ['a'], ['a', 'b', 'ab']],
    [['[^b]+', 'a|b+'], [], ['a', 'b', 'ab']],
    [['(?i)AB.*'], [], ['ab']],
    [['.*'], [], []],
  ])('of %j beside %j are %j', (texts, spelled, names) => {
    expect(missing(texts, spelled).sort()).toEqual(names.sort());
  });

  it('are in upper case only where an object cannot have the name, and none in lower case is there', () => {
    expect(missing(['[A-Z]+'], [])).toEqual([]);
    expect(missing(['[A-Z]+'], [], 'any')).toEqual(['A']);
    expect(missing(['[A-Z]|[b-z]{2}'], [], 'any')).toEqual(['bb']);
  });

  it('leave out no name: every other one matches the same patterns as one of them', () => {
    const texts = [
      'a+',
      '[^a].*',
      '(?i)AB',
      '\\w+',
      'a|b.*',
      '(b1|a_.*)',
      '[a-c]{1,2}',
      '.+',
      '.*x',
      'a.*b.*',
      '[ab]*1',
    ];
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '1', '_', 'x', '-'), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.subarray(texts), fc.array(name, { maxLength: 8 }), fc.array(name), (chosen, spelled, names) => {
        const standing = [FRESH_PREFIX, ...missing(chosen, spelled)];
        const patterns = chosen.map(javaPattern);
        const combination = (each: string) => patterns.map((asked) => matches(asked, each)).join();
        const known = new Set(standing.map(combination));
        const unspelled = standing.filter((each) => !spelled.includes(each));
        expect(new Set(unspelled.map(combination)).size).toBe(unspelled.length);
        for (const each of [...names, ...spelled]) expect(known).toContain(combination(each));
      }),
    );
  });

  it('end by the budget where patterns combine in too many ways', () => {
    const texts = Array.from('abcdefghijklmnopqrst', (sign) => `.*${sign}.*`);
    expect(() => missing(texts, [])).toThrow(BudgetExceeded);
  });
});
