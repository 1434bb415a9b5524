import { type KeptAgreement, keptAgreement } from '../acl-import/kept-agreement.js';
import { keptDifferences } from '../acl-import/kept-differences.js';
import { keptCases } from '../acl-import/published-cases.js';
import type { AskEngine } from '../acl-import/engine-agreement.js';
import { inPairs, Oracle } from './engine-oracle/oracle.js';
import { openStack } from './stack.js';

type Settled<T> = PromiseSettledResult<T> | undefined;

describe("rules files as people keep them, beside the engine's own access control", () => {
  const cases = keptCases();
  const agreements = new Map<string, Settled<KeptAgreement>>();
  const differences = new Map<string, Settled<Awaited<ReturnType<typeof keptDifferences>>>>();
  let oracle: Oracle;
  beforeAll(async () => {
    const { parts } = openStack(process.env);
    oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
    await inPairs(cases, async (kept) => {
      agreements.set(kept.name, (await Promise.allSettled([keptAgreement(kept, ask)]))[0]);
      differences.set(kept.name, (await Promise.allSettled([keptDifferences(kept, ask)]))[0]);
    });
  });
  afterAll(() => oracle.stop());

  const ask: AskEngine = (rules, questions) => oracle.answersBy(rules, questions);

  it('has twenty-five of them and more', () => {
    expect(cases.length).toBeGreaterThanOrEqual(25);
  });

  it.each(cases)('is answered as the engine answers, for every user on every node: $name', ({ name }) => {
    const { asked, given, unjudged, wrong } = found(agreements.get(name));
    expect({ unjudged, wrong: wrong.slice(0, 5) }).toEqual({ unjudged: [], wrong: [] });
    expect(asked).toBeGreaterThan(500);
    // Agreement on nothing but refusals would show little.
    expect(given).toBeGreaterThan(5);
  });

  it.each(cases)('answers alike by the import, but where its differences are listed: $name', (kept) => {
    const { asked, kinds, examples } = found(differences.get(kept.name));
    expect({ kinds, examples }).toEqual({ kinds: kept.differences, examples });
    expect(asked).toBeGreaterThan(1_000);
  });
});

/** @throws what it was rejected with */
function found<T>(result: Settled<T>): T {
  if (result?.status !== 'fulfilled') throw result?.reason;
  return result.value;
}
