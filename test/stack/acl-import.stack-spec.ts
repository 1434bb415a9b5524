import fc from 'fast-check';
import { agreement, type AskEngine } from '../acl-import/engine-agreement.js';
import { publishedCases } from '../acl-import/published-cases.js';
import { anyForeignRules, FOREIGN_USERS } from '../support/snapshots/any-foreign-rules.js';
import { inPairs, Oracle } from './engine-oracle/oracle.js';
import { openStack } from './stack.js';

const RANDOM_FILES = 60;
const SEED = 20261123;

describe("grantline acl import beside the engine's own access control", () => {
  let oracle: Oracle;
  beforeAll(async () => {
    const { parts } = openStack(process.env);
    oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
  });
  afterAll(() => oracle.stop());

  const ask: AskEngine = (rules, questions) => oracle.answersBy(rules, questions);

  it.each(publishedCases())(
    'gives everybody what the file gives, and less only where the report says so: $name',
    async (published) => {
      const { asked, wrong } = await agreement(published, ask);
      expect(asked).toBeGreaterThan(100);
      expect(wrong).toEqual([]);
    },
  );

  it('gives nobody more with random files of the whole format', async () => {
    let granted = 0;
    await inPairs(fc.sample(anyForeignRules(), { numRuns: RANDOM_FILES, seed: SEED }), async (rules) => {
      const result = await agreement({ rules, users: FOREIGN_USERS }, ask, 4);
      granted += result.granted;
      // Of an open pattern the report names one example only, so that not every name with less is in it.
      const more = result.wrong.filter(({ after }) => after !== false);
      expect({ rules, more }).toEqual({ rules, more: [] });
    });
    expect(granted).toBeGreaterThan(1_000);
  });
});
