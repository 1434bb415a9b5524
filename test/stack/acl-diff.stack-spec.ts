import fc from 'fast-check';
import { diffAgreement } from '../acl-diff/engine-differences.js';
import type { AskEngine } from '../acl-import/engine-agreement.js';
import { publishedCases } from '../acl-import/published-cases.js';
import { anyForeignRules, FOREIGN_USERS } from '../support/snapshots/any-foreign-rules.js';
import { inPairs, Oracle } from './engine-oracle/oracle.js';
import { openStack } from './stack.js';

const RANDOM_PAIRS = 60;
/** Each pair takes a second of the engine: the same ones each time. */
const SEED = 20261123;

describe("grantline acl diff beside the engine's own access control", () => {
  let oracle: Oracle;
  beforeAll(async () => {
    const { parts } = openStack(process.env);
    oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
  });
  afterAll(() => oracle.stop());

  const ask: AskEngine = (rules, questions) => oracle.answersBy(rules, questions);

  it('says what published files give beside each other, and nothing else', async () => {
    const cases = publishedCases();
    let compared = 0;
    await inPairs(cases.entries(), async ([i, { name, rules, users }]) => {
      const other = cases[(i + 1) % cases.length];
      const result = await diffAgreement({ before: rules, after: other?.rules ?? '', users }, ask, { mostNames: 6 });
      if (result === null) return;
      compared += 1;
      expect({ name, ...result }).toMatchObject({ name, missing: [], untrue: [] });
    });
    expect(compared).toBeGreaterThan(15);
  });

  it('says what random files of the whole format give beside each other, and nothing else', async () => {
    let checked = 0;
    const pairs = fc.sample(fc.tuple(anyForeignRules(), anyForeignRules()), { numRuns: RANDOM_PAIRS, seed: SEED });
    await inPairs(pairs, async ([before, after]) => {
      const result = await diffAgreement({ before, after, users: FOREIGN_USERS }, ask);
      if (result === null) return;
      checked += result.checked;
      expect({ before, after, ...result }).toMatchObject({ missing: [], untrue: [] });
    });
    expect(checked).toBeGreaterThan(1_000);
  });

  it('says what random files without groups give everybody', async () => {
    let checked = 0;
    const withoutGroups = anyForeignRules().map((text) => {
      const sections = JSON.parse(text) as Record<string, object[]>;
      for (const rule of Object.values(sections).flat())
        for (const key of ['group', 'original_group']) Reflect.deleteProperty(rule, key);
      return JSON.stringify(sections);
    });
    const pairs = fc.sample(fc.tuple(withoutGroups, withoutGroups), { numRuns: RANDOM_PAIRS / 2, seed: SEED });
    await inPairs(pairs, async ([before, after]) => {
      const result = await diffAgreement({ before, after, users: 'a\nab\nb0\nx$\n' }, ask, { isListed: false });
      if (result === null) return;
      checked += result.checked;
      expect({ before, after, ...result }).toMatchObject({ missing: [], untrue: [] });
    });
    expect(checked).toBeGreaterThan(1_000);
  });
});
