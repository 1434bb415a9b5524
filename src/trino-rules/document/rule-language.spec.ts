import { javaPattern } from '../../../test/support/rules/java-pattern.js';
import { automatonOf, judgeCoverage, type RulePatterns } from './rule-language.js';
import { BudgetExceeded, WorkBudget } from './work-budget.js';

const NODES = 10_000;

describe('the coverage of a rule by earlier ones', () => {
  it('is undecided where few nodes have too many transitions', () =>
    expect(judgeCoverage(rule('a*'), [rule('[ab]?'.repeat(1_000))], NODES)).toBe('undecided'));

  it('is paid for by the transitions that are followed', () => {
    const ask = (work: WorkBudget) => judgeCoverage(rule('(a|b)*a(a|b){5}'), [rule('(a|b)*a(a|b){6}')], NODES, work);
    expect(ask(new WorkBudget(1_000_000))).toBe('uncovered');
    expect(() => ask(new WorkBudget(1_000))).toThrow(BudgetExceeded);
  });
});

describe('the automaton of a pattern', () => {
  it('is none where few nodes have too many transitions', () =>
    expect(automatonOf(javaPattern('(a|b|c|d)?'.repeat(500)), NODES)).toBeNull());
});

function rule(text: string): RulePatterns {
  return [javaPattern(text)];
}
