import { keptAgreement } from '../acl-import/kept-agreement.js';
import { keptDifferences } from '../acl-import/kept-differences.js';
import { keptCases } from '../acl-import/published-cases.js';
import type { AskEngine } from '../acl-import/engine-agreement.js';
import { Oracle } from './engine-oracle/oracle.js';
import { openStack } from './stack.js';

describe("rules files as people keep them, beside the engine's own access control", () => {
  let oracle: Oracle;
  beforeAll(async () => {
    const { parts } = openStack(process.env);
    oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
  });
  afterAll(() => oracle.stop());

  const ask: AskEngine = (rules, questions) => oracle.answersBy(rules, questions);

  it('has twenty-five of them and more', () => {
    expect(keptCases().length).toBeGreaterThanOrEqual(25);
  });

  it.each(keptCases())('is answered as the engine answers, for every user on every node: $name', async (kept) => {
    const { asked, given, unjudged, wrong } = await keptAgreement(kept, ask);
    expect({ unjudged, wrong: wrong.slice(0, 5) }).toEqual({ unjudged: [], wrong: [] });
    expect(asked).toBeGreaterThan(500);
    // Agreement on nothing but refusals would show little.
    expect(given).toBeGreaterThan(5);
  });

  it.each(keptCases())('answers alike by the import, but where its differences are listed: $name', async (kept) => {
    const { asked, kinds, examples } = await keptDifferences(kept, ask);
    expect({ kinds, examples }).toEqual({ kinds: kept.differences, examples });
    expect(asked).toBeGreaterThan(1_000);
  });
});
