import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../compile/compile.js';
import { rulesText } from '../compile/rules-text.js';
import type { Finding } from '../document/finding.js';
import { FRESH_PREFIX } from '../document/open-names.js';
import { WorkBudget } from '../document/work-budget.js';
import { checkRules, withEngine } from './check.js';
import { prove } from './proof.js';

const WORDS_OF_128 = 4;

class CountedSteps extends WorkBudget {
  spent = 0;

  override spend(steps: number): void {
    this.spent += steps;
  }
}

describe('the check of a text', () => {
  it('finds nothing in what the compiler makes of any snapshot', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('closes companions where a restriction takes nothing else', () => {
    const snapshot = aSnapshot()
      .group('editors', ['ana'])
      .may('UPDATE', '')
      .everyone()
      .mayNot('sales', 'SELECT')
      .snapshot();
    expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
  });

  it('finds nothing where row filters begin one another', () => {
    fc.assert(
      fc.property(anySnapshot(['row_filter']), (snapshot) => {
        expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('accepts a row filter that begins another one, in whatever order they are joined', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'sales.eu.orders')
      .seesOnly('sales.eu.orders', "region = 'EU'")
      .seesOnly('sales.eu.orders', "region = 'EU' AND year > 2020")
      .snapshot();

    expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
  });

  it('answers where rules spell the name that stands for all others, as the one of a user', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').snapshot();
    const { document } = compile(snapshot);
    const becoming = { original_user: FRESH_PREFIX, new_user: FRESH_PREFIX, allow: false };
    const executing = { user: FRESH_PREFIX, allow: [] };
    const setting = { user: FRESH_PREFIX, allow: false };
    const twice = {
      ...document,
      impersonation: [...document.impersonation, becoming, becoming],
      queries: [...document.queries, executing, executing],
      system_session_properties: [...document.system_session_properties, setting, setting],
    };

    const dead = checkRules(rulesText(twice), snapshot).filter(({ code }) => code === 'dead-rule');

    expect(dead.map(({ rule }) => rule?.replace(/\[.*/, ''))).toEqual([
      'queries',
      'impersonation',
      'system_session_properties',
    ]);
  });

  it('has enough steps for what few people have on many schemas, with many restrictions each', () => {
    const builder = aSnapshot();
    const people = builder.group('readers', ['ana', 'bo']);
    for (let i = 0; i < 600; i++) people.may('SELECT', `lake.schema_${i}`);
    const everyone = people.everyone();
    for (let i = 0; i < 1_000; i++) everyone.doesNotSee('lake', `column_${i}`);
    const snapshot = builder.snapshot();

    expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
  });

  it('takes twice the steps for twice the people who each view the queries of somebody else', () => {
    const [some, twice] = [100, 200].map((count) => {
      const builder = aSnapshot();
      for (let i = 0; i < count; i++)
        builder.user(`person_${i}`).may('VIEW_QUERIES', { queries: { type: 'engine', name: `job_${i}` } });
      const [snapshot, budget] = [builder.snapshot(), new CountedSteps()];
      const { document } = compile(snapshot);
      expect(document.queries).toHaveLength(count + 1);
      const found = withEngine(document, snapshot, budget, (...judged) => prove(...judged));
      expect(found).toEqual([]);
      return budget.spent;
    });
    expect((twice ?? NaN) / (some ?? NaN)).toBeLessThan(2.2);
  });

  it.each(['as', 'queries'] as const)(
    'pays for each group that denies name by `%s`, and for equal denies once',
    (key) => {
      const privilege = key === 'as' ? 'IMPERSONATE' : 'VIEW_QUERIES';
      const judged = (denies: number, groups: number, budget: WorkBudget): Finding[] => {
        const builder = aSnapshot();
        const people = Array.from({ length: 64 }, (_, i) => `person_${i}`);
        for (let i = 0; i < 64; i++) builder.engine(`program_${i}`).may(privilege, { [key]: { type: 'everyone' } });
        for (let i = 0; i < groups; i++) builder.group(`group_${i}`, people);
        for (let i = 0; i < denies; i++)
          builder.everyone().mayNot({ [key]: { type: 'group', id: 1 + (i % groups) } }, privilege);
        const snapshot = builder.snapshot();
        return withEngine(compile(snapshot).document, snapshot, budget, prove);
      };
      const stepsFor = (denies: number, groups: number): number => {
        const budget = new CountedSteps();
        expect(judged(denies, groups, budget)).toEqual([]);
        return budget.spent;
      };
      const alike = stepsFor(200, 1);
      const different = stepsFor(200, 200);

      expect(stepsFor(400, 1) - alike).toBeLessThan(200 * 200);
      expect(different - alike).toBeGreaterThan(199 * 64 * WORDS_OF_128);
      expect(judged(200, 200, new WorkBudget((alike + different) / 2))).toMatchObject([{ code: 'proof-undecided' }]);
    },
  );

  it('reads more exceptions than a call can have arguments', () => {
    const builder = aSnapshot().user('ana');
    const snapshot = builder.everyone().may('SELECT', 'lake').mayNot('lake.eu', 'SELECT').snapshot();
    const ana = snapshot.users.map(({ id }) => ({ type: 'user', id }) as const);
    const except = Array.from({ length: 200_000 }, () => ana).flat();
    const excepting = { ...snapshot, policies: snapshot.policies.map((policy) => ({ ...policy, except })) };

    expect(checkRules(compile(excepting).text, excepting)).toEqual([]);
  });
});
