import fc from 'fast-check';

import { compile } from '../../src/acl-sync/domain/compile.js';
import { Evaluator } from '../../src/acl-sync/domain/evaluator.js';
import { Listings } from '../../src/acl-sync/domain/listings.js';
import type { RulesDocument } from '../../src/acl-sync/domain/rules-document.js';
import { readRules } from '../../src/acl-sync/domain/rules-reader.js';
import { intentAt } from '../../src/grants/domain/intent.js';
import type { Resource } from '../../src/grants/domain/resource.js';
import { subjectsOf, type Subject } from '../../src/grants/domain/subject.js';
import type { Snapshot } from '../../src/grants/domain/snapshot.js';
import { anyRules, RULE_NAMES } from '../support/any-rules.js';
import { anyWorld } from '../support/any-world.js';
import { hostileFiles } from '../support/hostile-rules.js';
import { byEvaluator } from './engine-oracle/by-evaluator.js';
import { byIntent } from './engine-oracle/by-intent.js';
import { Oracle } from './engine-oracle/oracle.js';
import { anyQuestion, type Answer, type Question, type Words, type Worth } from './engine-oracle/question.js';
import { openStack } from './stack.js';

const WORLDS = 250;
const PER_WORLD = 60;

describe("the engine's own access control", () => {
  let oracle: Oracle;
  beforeAll(async () => {
    const { parts } = openStack(process.env);
    oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
  });
  afterAll(() => oracle.stop());

  it('decides as the intent and as our evaluator, with what the compiler makes of random worlds', async () => {
    const worlds = fc.sample(anyWorld(), WORLDS);
    const said = new Map<string, Set<boolean>>();
    let decisions = 0;
    for (const snapshot of worlds) {
      const { text } = compile(snapshot);
      const questions = fc.sample(anyQuestion(wordsOf(snapshot)), PER_WORLD);
      const answers = await askAll(text, questions);
      decisions += answers.length;
      for (const { question, engine } of answers)
        said.set(question.ask, (said.get(question.ask) ?? new Set()).add(isYes(engine)));
      const wrong = answers.filter(({ question, engine }) => {
        const meant = byIntent(snapshot, question);
        return meant !== undefined && canonical(meant) !== canonical(engine);
      });
      expect({ snapshot, wrong }).toEqual({ snapshot, wrong: [] });
    }
    expect(worlds.length).toBeGreaterThanOrEqual(200);
    expect(decisions).toBeGreaterThanOrEqual(10_000);
    // Agreement on nothing but refusals would show little.
    expect([...said].filter(([ask, answers]) => !NEVER.includes(ask) && answers.size < 2)).toEqual([]);
  });

  it('decides as our evaluator, with rules that nobody would write', async () => {
    for (const rules of fc.sample(anyRules(), WORLDS)) {
      await askAll(JSON.stringify(rules), fc.sample(anyQuestion(RULE_WORDS), PER_WORLD));
    }
  });

  it('refuses nothing that the strict reader takes', async () => {
    const files = hostileFiles();
    expect(files.length).toBeGreaterThanOrEqual(150);
    const verdicts: Record<'both' | 'onlyUs' | 'onlyEngine' | 'nobody', string[]> = {
      both: [],
      onlyUs: [],
      onlyEngine: [],
      nobody: [],
    };
    for (const { name, source } of files) {
      const { loaded } = await oracle.load(source);
      const taken = readRules(source).kind === 'read';
      verdicts[loaded ? (taken ? 'nobody' : 'onlyUs') : taken ? 'onlyEngine' : 'both'].push(name);
    }
    expect(verdicts.onlyEngine).toEqual([]);
    expect(verdicts.nobody).toEqual([]);
    // The strict reader is there for these: the engine takes them and means something else.
    expect(verdicts.onlyUs.length).toBeGreaterThanOrEqual(50);
  });

  /** Asks engine and evaluator, and fails where they differ. */
  async function askAll(
    text: string,
    questions: readonly Question[],
  ): Promise<{ question: Question; engine: Answer }[]> {
    const rules = read(text);
    expect(await oracle.load(text)).toMatchObject({ loaded: true });
    const { answers } = await oracle.ask(questions);
    const evaluator = new Evaluator(rules);
    const listings = new Listings(evaluator);
    const judged = questions.map((question, i) => ({ question, engine: answers[i] ?? null }));
    const differing = judged
      .map((each) => ({ ...each, evaluator: byEvaluator(evaluator, listings, each.question) }))
      .filter(({ engine, evaluator }) => canonical(engine) !== canonical(evaluator));
    expect({ text, differing }).toEqual({ text, differing: [] });
    return judged.map(({ question, engine }) => ({ question, engine: engine as Answer }));
  }
});

/** What the rules give to nobody. */
const NEVER = ['view-query', 'kill-query', 'function', 'view-with-function', 'procedure'];

function isYes(answer: Answer): boolean {
  return Array.isArray(answer) ? answer.length > 0 : answer !== null && answer !== false;
}

/** Names of the world, names that are nobody's, and names that differ by a character or by case. */
function wordsOf(snapshot: Snapshot): Words {
  const resources = [...snapshot.grants, ...snapshot.policies].map(({ resource }) => resource);
  const named = (level: 'catalog' | 'schema' | 'table') => resources.flatMap((resource) => resource[level] ?? []);
  const { list } = subjectsOf(snapshot);
  const names = list.map(({ name }) => name);
  const { writableCatalogs, readableCatalogs, sessionProperties } = snapshot.settings;
  return {
    users: distinct([
      ...names,
      ...names.map((name) => name.toUpperCase()),
      ...names.map((name) => `${name}1`),
      'stranger',
    ]),
    worth: worthAsking(snapshot, resources, list),
    catalogs: distinct([
      ...named('catalog'),
      ...writableCatalogs,
      ...readableCatalogs,
      'system',
      'grantline',
      'unknown',
    ]),
    schemas: distinct([...named('schema'), 'jdbc', 'metadata', 'runtime', 'information_schema', 'unknown']),
    tables: distinct([...named('table'), 'unknown', 'kill_query']),
    columns: distinct([
      ...snapshot.policies.flatMap((p) => ('column' in p.resource ? [p.resource.column] : [])),
      'unknown',
    ]),
    properties: distinct([...sessionProperties, 'query_max_run_time', 'grantline_rules_0', 'unknown']),
  };
}

/** Whoever has something somewhere, most of all where it is filtered or masked; and whom the service's account may become. */
function worthAsking(snapshot: Snapshot, resources: readonly Resource[], list: readonly Subject[]): Worth[] {
  const places = [...resources, { catalog: 'lake' }, { catalog: 'tpch' }].map(
    ({ catalog, schema = 'unknown', table = 'unknown' }: Resource) => ({ catalog, schema, table }),
  );
  const people = list.filter(({ kind }) => kind === 'person').map(({ name }) => name);
  const becoming = people.map((somebody) => ({
    user: snapshot.settings.ownAccount,
    place: { catalog: 'lake', schema: 'unknown', table: 'unknown' },
    column: 'unknown',
    somebody,
  }));
  return [
    ...becoming,
    ...list.flatMap((subject) =>
      places.flatMap((place) => {
        const principal =
          subject.kind === 'person'
            ? ({ type: 'user', id: subject.userId } as const)
            : ({ type: 'engine', name: subject.name } as const);
        const { privileges, masks, filter } = intentAt(snapshot, principal, place);
        const column = masks[0]?.column ?? 'unknown';
        const worth = { user: subject.name, place, column, somebody: 'stranger' };
        const times = privileges.length === 0 ? 0 : filter === null && masks.length === 0 ? 1 : 10;
        return Array.from({ length: times }, () => worth);
      }),
    ),
  ];
}

const RULE_WORDS: Words = {
  users: RULE_NAMES,
  worth: [],
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

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}
