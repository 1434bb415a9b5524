import fc from 'fast-check';

import { compile } from '../../src/trino-rules/compile/compile.js';
import { admissionVerdict } from '../../src/acl-sync/domain/candidate.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { MetadataVisibility } from '../support/rules/metadata-visibility.js';
import { proveRules } from '../support/rules/prove-rules.js';
import type { RulesDocument } from '../../src/trino-rules/document/rules-document.js';
import { readRules } from '../../src/trino-rules/document/rules-reader.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { anyHostileSnapshot } from '../support/snapshots/hostile-snapshot.js';
import { anyRules, RULE_NAMES } from '../support/snapshots/any-rules.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { byEvaluator } from '../support/rules/by-evaluator.js';
import { byIntent } from '../support/rules/by-intent.js';
import { anyQuestion, type Answer, type Question, type Words } from '../support/rules/engine-question.js';
import { hostileFiles } from '../support/rules/hostile-rules.js';
import { wordsOf } from '../support/snapshots/snapshot-words.js';
import { wrongDocuments, wronged } from '../support/rules/wrong-documents.js';
import { withFault } from '../support/rules/document-fault.js';
import { Chance } from '../support/snapshots/chance.js';
import { isError } from '../../src/trino-rules/document/finding.js';
import { inPairs, Oracle } from './engine-oracle/oracle.js';
import { openStack } from './stack.js';

/** Random snapshots or documents of each test. */
const SAMPLES = Number(process.env['GRANTLINE_ORACLE_SAMPLES'] ?? 250);
const QUESTIONS_PER_SAMPLE = 60;
/** Documents with a slip, of each snapshot. */
const SLIPS = 8;
/** Of each test, in milliseconds. */
const DEADLINE = Math.max(60_000, SAMPLES * 400);

describe("the engine's own access control", () => {
  let oracle: Oracle;
  beforeAll(async () => {
    const { parts } = openStack(process.env);
    oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
  });
  afterAll(() => oracle.stop());

  it(
    'decides as the intent and as our evaluator, with what the compiler makes of random snapshots',
    async () => {
      const answered = new Map<string, Set<boolean>>();
      let decisions = 0;
      await inPairs(fc.sample(anySnapshot(), SAMPLES), async (snapshot) => {
        const answers = await askAsMeant(snapshot);
        decisions += answers.length;
        for (const { question, engine } of answers)
          answered.set(question.ask, (answered.get(question.ask) ?? new Set()).add(isYes(engine)));
      });
      expect(decisions).toBeGreaterThanOrEqual(10_000);
      // Agreement on nothing but refusals would show little.
      expect([...answered].filter(([ask, answers]) => !NEVER.includes(ask) && answers.size < 2)).toEqual([]);
    },
    DEADLINE,
  );

  it(
    'decides so with the strangest names and expressions that can be written down, none of which a run refuses',
    async () => {
      await inPairs(fc.sample(anyHostileSnapshot(), SAMPLES), async (snapshot) => {
        expect({ snapshot, refusal: admissionVerdict(snapshot, null).refusal }).toEqual({ snapshot, refusal: null });
        await askAsMeant(snapshot);
      });
    },
    DEADLINE,
  );

  it(
    'decides as our evaluator, with random rules',
    async () => {
      await inPairs(fc.sample(anyRules(), SAMPLES), async (rules) => {
        await askAll(JSON.stringify(rules), fc.sample(anyQuestion(RULE_WORDS), QUESTIONS_PER_SAMPLE));
      });
    },
    DEADLINE,
  );

  it(
    'answers as meant wherever the proof passes a document with a slip in it',
    async () => {
      const seen = { refused: 0, proved: 0 };
      await inPairs(fc.sample(anySnapshot(), SAMPLES).entries(), async ([at, snapshot]) => {
        const { text } = compile(snapshot);
        const chance = new Chance(at);
        for (let slips = 0; slips < SLIPS; slips += 1) {
          const faulty = withFault(text, chance);
          const reading = readRules(faulty);
          if (reading.kind === 'refused' || proveRules(reading.document, snapshot).some(isError)) {
            seen.refused += 1;
            continue;
          }
          seen.proved += 1;
          await askAsMeant(snapshot, faulty);
        }
      });
      expect(seen.refused).toBeGreaterThan((SAMPLES * SLIPS) / 2);
    },
    DEADLINE * 2,
  );

  it.each(Object.entries(wrongDocuments()))(
    'opens what the grants do not, where the proof refuses a document: %s',
    async (_, { rules, shownBy }) => {
      const [answer] = await askAll(JSON.stringify(rules), [shownBy]);

      expect(byIntent(wronged, shownBy)).toBe(false);
      expect(answer?.engine).toBe(true);
      expect(proveRules(rules, wronged)).not.toEqual([]);
    },
  );

  it('refuses nothing that the strict reader takes', async () => {
    const files = hostileFiles();
    expect(files.length).toBeGreaterThanOrEqual(150);
    const verdicts: Record<'both' | 'onlyUs' | 'onlyEngine' | 'neither', string[]> = {
      both: [],
      onlyUs: [],
      onlyEngine: [],
      neither: [],
    };
    for (const { name, source } of files) {
      const { loaded } = await oracle.load(source);
      const taken = readRules(source).kind === 'read';
      verdicts[loaded ? (taken ? 'neither' : 'onlyUs') : taken ? 'onlyEngine' : 'both'].push(name);
    }
    expect(verdicts.onlyEngine).toEqual([]);
    expect(verdicts.neither).toEqual([]);
    // The strict reader exists for these: the engine accepts them with another meaning.
    expect(verdicts.onlyUs.length).toBeGreaterThanOrEqual(50);
  });

  /** Asks a document, or what the compiler makes of a snapshot, and fails on an answer that differs from the intent. */
  async function askAsMeant(
    snapshot: Snapshot,
    text = compile(snapshot).text,
  ): Promise<{ question: Question; engine: Answer }[]> {
    const answers = await askAll(text, fc.sample(anyQuestion(wordsOf(snapshot)), QUESTIONS_PER_SAMPLE));
    const wrong = answers.filter(({ question, engine }) => {
      const expected = byIntent(snapshot, question);
      return expected !== undefined && canonical(expected) !== canonical(engine);
    });
    expect({ snapshot, text, wrong }).toEqual({ snapshot, text, wrong: [] });
    return answers;
  }

  /** Asks engine and evaluator, and fails where they differ. */
  async function askAll(
    text: string,
    questions: readonly Question[],
  ): Promise<{ question: Question; engine: Answer }[]> {
    const rules = read(text);
    const answers = await oracle.answersBy(text, questions);
    const evaluator = new Evaluator(rules);
    const listings = new MetadataVisibility(evaluator);
    const judged = questions.map((question, i) => ({ question, engine: answers[i] ?? null }));
    const differing = judged
      .map((each) => ({ ...each, evaluator: byEvaluator(evaluator, listings, each.question) }))
      .filter(({ engine, evaluator }) => canonical(engine) !== canonical(evaluator));
    expect({ text, differing }).toEqual({ text, differing: [] });
    return judged.map(({ question, engine }) => ({ question, engine: engine as Answer }));
  }
});

/** Checks that the rules never allow, or seldom. */
const NEVER = ['write-system', 'function', 'view-with-function', 'procedure'];

function isYes(answer: Answer): boolean {
  return Array.isArray(answer) ? answer.length > 0 : answer !== null && answer !== false;
}

const RULE_WORDS: Words = {
  users: RULE_NAMES,
  preferred: [],
  catalogs: RULE_NAMES,
  schemas: RULE_NAMES,
  tables: RULE_NAMES,
  columns: ['a', 'b', 'ab', 'c'],
  properties: RULE_NAMES,
};

function read(text: string): RulesDocument {
  const reading = readRules(text);
  if (reading.kind === 'refused') throw new Error(JSON.stringify(reading.findings));
  return reading.document;
}

function canonical(answer: Answer | { error: string }): string {
  return JSON.stringify(Array.isArray(answer) ? [...(answer as string[])].sort() : answer);
}
