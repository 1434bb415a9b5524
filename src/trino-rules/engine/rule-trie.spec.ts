import { BudgetExceeded, WorkBudget } from '../document/work-budget.js';
import { RuleTrie } from './rule-trie.js';

describe('rules by the names they speak of', () => {
  const names = (count: number, prefix = 't') =>
    ({ kind: 'names', names: new Set(Array.from({ length: count }, (_, i) => `${prefix}${i}`)) }) as const;

  it('cost by the rule where a thousand speak of the same hundred tables, as own rows of a thousand people do', () => {
    const trie = new RuleTrie(new WorkBudget(20_000_000));
    for (let rule = 0; rule < 1_000; rule++) trie.add(rule, [names(1), names(1), names(100)]);
    expect(trie.rulesMatching(['t0', 't0', 't99'])).toHaveLength(1_000);
  });

  it('cost by the name where each speaks of others', () => {
    const trie = new RuleTrie(new WorkBudget(20_000_000));
    expect(() => {
      for (let rule = 0; rule < 1_000; rule++) trie.add(rule, [names(1), names(1), names(100, `${rule}_`)]);
    }).toThrow(BudgetExceeded);
  });
});
