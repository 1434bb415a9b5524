import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { explainedUndecided } from './compilation.js';

describe('rules that are too many to be proved', () => {
  const { policies } = aSnapshot()
    .group('readers', ['ana'])
    .seesOnly('sales.eu', "region = 'EU'")
    .seesOnly('sales.eu.orders', "state = 'open'")
    .seesOnly('sales.us', "region = 'US'")
    .snapshot();
  const finding = { code: 'proof-undecided', severity: 'error', message: 'nothing is proved' } as const;
  const where = { where: 'sales.eu', rules: 3_000 };

  it('are explained by the policies at the parent that has most of them', () => {
    expect(explainedUndecided(finding, where, policies).message).toMatch(
      /^nothing is proved[.] 3000 rules are needed in sales[.]eu, one for each .*; 2 policies make them \(ids 1, 2\): let fewer/,
    );
    expect(explainedUndecided(finding, where, []).message).toMatch(/hidden columns$/);
  });

  it('are not, where a pattern of one rule is the reason', () => {
    const ofRule = { ...finding, rule: 'tables[1]' };
    expect(explainedUndecided(ofRule, where, policies)).toBe(ofRule);
  });
});
