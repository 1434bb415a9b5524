import fc from 'fast-check';
import { readJavaPattern } from '../../src/rules-files/java/java-pattern.js';
import { matchingStrings, matches } from '../../src/trino-rules/document/pattern-meaning.js';
import { type Pattern, readPattern } from '../../src/trino-rules/document/pattern.js';
import { judgeCoverage } from '../../src/trino-rules/document/rule-language.js';
import { anyJavaPattern } from '../support/rules/any-java-pattern.js';
import { Oracle } from './engine-oracle/oracle.js';
import { openStack } from './stack.js';

const PATTERNS = 4_000;
const AT_ONCE = 500;
const SEED = 20261125;
/** Of a pattern that is spelled out. */
const MAX_NAMES = 1_000;
/** Of an automaton, which is made for one name of a pattern. */
const MAX_NODES = 2_000;

describe("the reader of Java's patterns beside java.util.regex", () => {
  let oracle: Oracle;
  beforeAll(async () => {
    const { parts } = openStack(process.env);
    oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
  });
  afterAll(() => oracle.stop());

  it('refuses what Java refuses, and matches what Java matches, with random and hostile patterns and names', async () => {
    const wrong: object[] = [];
    const counts = { refused: 0, notJudged: 0, matched: 0, unmatched: 0 };
    const all = fc.sample(anyJavaPattern(), { numRuns: PATTERNS, seed: SEED });
    for (let from = 0; from < all.length; from += AT_ONCE) {
      const some = all.slice(from, from + AT_ONCE);
      const answers = await oracle.match(some.map(({ pattern, names }) => [pattern, ...names]));
      for (const [i, { pattern: text, names }] of some.entries()) {
        const [reading, answer] = [readJavaPattern(text), answers[i] ?? null];
        if (reading.kind === 'not-judged') counts.notJudged++;
        else if (reading.kind === 'refused' || answer === null) {
          if (reading.kind === 'refused' && answer === null) counts.refused++;
          else wrong.push({ text, reading, answer });
        } else if (reading.pattern === null) counts.notJudged++;
        else
          for (const [n, name] of names.entries()) {
            const isMatch = answer[n] === '1';
            counts[isMatch ? 'matched' : 'unmatched']++;
            if (meanings(text, reading.pattern, name, n === 0).some((meaning) => meaning !== isMatch))
              wrong.push({ text, name, isMatch });
          }
      }
    }
    expect(wrong).toEqual([]);
    // Agreement on refusals, or on names that do not match, would show little.
    expect(counts.refused).toBeGreaterThan(300);
    expect(counts.notJudged).toBeGreaterThan(200);
    expect(counts.matched).toBeGreaterThan(1_000);
    expect(counts.unmatched).toBeGreaterThan(8_000);
  });
});

/** Whether a name matches: by each way in which patterns are judged that can judge this one. */
function meanings(text: string, pattern: Pattern, name: string, asAutomaton: boolean): boolean[] {
  const [common, spelled] = [readPattern(text), matchingStrings(pattern, MAX_NAMES)];
  // A rule is about names that are not empty, and NUL divides its fields.
  const literal: Pattern = { options: [[{ kind: 'literal', text: name }]] };
  const covered = asAutomaton && !/^$|\0/.test(name) ? judgeCoverage([literal], [[pattern]], MAX_NODES) : 'undecided';
  return [
    matches(pattern, name),
    ...(common.kind === 'pattern' ? [matches(common.pattern, name)] : []),
    ...(spelled === null ? [] : [spelled.has(name)]),
    ...(covered === 'undecided' ? [] : [covered === 'covered']),
  ];
}
