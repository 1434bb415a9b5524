import fc from 'fast-check';
import { decodeFile } from '../../src/commands/check/decode.js';
import { checkText } from '../../src/rules-files/check/check-text.js';
import { isRefused } from '../../src/rules-files/check/checks.js';
import { ENGINE_FORMAT, type SectionFormat } from '../../src/rules-files/check/engine-format.js';
import { readLeniently } from '../../src/rules-files/check/lenient-reader.js';
import { explainForeign } from '../../src/rules-files/foreign/foreign-explanation.js';
import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import type { Question } from '../../src/trino-rules/model/question.js';
import { corpusCases } from '../acl-check/corpus-cases.js';
import { keptCases } from '../acl-import/published-cases.js';
import { questionOfWitness } from './engine-oracle/door-witness.js';
import { inPairs, Oracle } from './engine-oracle/oracle.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { type Answer, runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { openEngine } from './running/open-engine.js';
import { kubectlOf, openStack } from './stack.js';

const NO_SETTINGS = { serviceAccounts: [], writableCatalogs: [], readableCatalogs: [], metadataCatalog: null };
const MUTATED = 2_000;

describe("grantline acl check beside the engine's own reader", () => {
  let oracle: Oracle;
  beforeAll(async () => {
    const { parts } = openStack(process.env);
    oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
  });
  afterAll(() => oracle.stop());

  const texts = corpusCases()
    .filter(({ name }) => !name.startsWith('manifests'))
    .map(({ text }) => text);

  const expectNoDifference = async (bytes: Uint8Array): Promise<void> => expect(await differenceIn(bytes)).toBeNull();
  const differenceIn = async (bytes: Uint8Array): Promise<object | null> => {
    const { text, findings } = decodeFile(bytes);
    const found = [...findings, ...checkText(text, NO_SETTINGS)];
    const refusals = found.filter(({ code }) => isRefused(code));
    if (refusals.length === 0 && found.some(({ code }) => code === 'pattern-not-judged')) return null;
    const engine = await oracle.load(bytes);
    return engine.loaded === (refusals.length === 0) ? null : { text, engine, refusals };
  };

  it('calls refused what the engine refuses, and nothing else, in the whole corpus', async () => {
    await inPairs(texts, (text) => expectNoDifference(Buffer.from(text)));
  });

  it('finds doors through which the engine lets their witness, in files of the kinds that people keep', async () => {
    const asked: { code: string; answer: unknown }[] = [];
    for (const { rules } of keptCases()) {
      const file = await readForeignRulesFile(Buffer.from(rules));
      if (file.kind === 'refused') continue;
      const doors = checkText(file.text, NO_SETTINGS).filter(({ code }) => code.startsWith('door-'));
      const questions = doors.flatMap(({ code, witness = '' }) => {
        const question = questionOfWitness(witness);
        return question === null ? [] : [{ code, question }];
      });
      const answers = await oracle.answersBy(
        file.text,
        questions.map(({ question }) => question),
      );
      asked.push(...questions.map(({ code }, i) => ({ code, answer: answers[i] })));
    }
    expect(asked.filter(({ answer }) => answer !== true)).toEqual([]);
    expect(asked.length).toBeGreaterThanOrEqual(100);
    expect(new Set(asked.map(({ code }) => code)).size).toBeGreaterThanOrEqual(4);
  });

  it('does so for any value of any field, in any spelling, also where it stands twice', async () => {
    await inPairs(rulesOfEveryField(), (rule) => expectNoDifference(Buffer.from(rule)));
  });

  it('does so in mutated files', async () => {
    const piece = fc.constantFrom(
      '',
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      'null',
      '0',
      '1',
      'true',
      '""',
      '\\\\',
      '*',
      '(',
      '.*',
      ' ',
    );
    const mutated = fc.tuple(fc.constantFrom(...texts), fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(6), piece);
    await inPairs(fc.sample(mutated, MUTATED), ([text, at, removed, added]) => {
      const place = Math.floor(at * text.length);
      return expectNoDifference(Buffer.from(text.slice(0, place) + added + text.slice(place + removed)));
    });
  });
});

const VALUES = [
  ...['null', '1', '1.5', 'true', '{}', '""', '"x"', '"("', '"TRUE"', '"all"', '"EXECUTE"', '{"user":"a"}'],
  ...['[]', '[null]', '[1]', '[99]', '["SELECT"]', '["SELECT","SELECT"]', '["NOPE"]', '["execute"]', '["read"]'],
  ...['["SCALAR"]', '[{"name":"c"}]', '[{"name":"c","name":"d"}]', '[{"x":1}]'],
];
const FITTING: Readonly<Record<SectionFormat['fields'][string]['kind'], string>> = {
  ...{ pattern: '"x"', 'new-user': '"x"', text: '"x"', expression: '"x"', 'catalog-mode': '"all"', flag: 'true' },
  ...{ words: '[]', columns: '[]', 'no-words': '[]', environment: '{"user":"a"}' },
};
const WITH_OTHERS = ['new_user', 'privileges', 'principal', 'user', 'allow'];

/** One rule each: a value alone and before another one, beside what the section requires. */
function* rulesOfEveryField(): Iterable<string> {
  for (const [section, { fields, aliases = {} }] of Object.entries<SectionFormat>(ENGINE_FORMAT)) {
    for (const [key, { kind }] of Object.entries(fields)) {
      const others = WITH_OTHERS.filter((each) => each in fields && each !== key);
      const beside = others.map((each) => `"${each}":${FITTING[fields[each]?.kind ?? 'text']}`);
      const rule = (...members: string[]) => `{"${section}":[{${members.join(',')}}]}`;
      const spellings = [key, ...Object.keys(aliases).filter((alias) => aliases[alias] === key)];
      for (const value of VALUES) {
        for (const spelling of spellings) {
          yield rule(...beside, `"${spelling}":${value}`);
          yield rule(`"${spelling}":${value}`, ...beside, `"${spelling}":${FITTING[kind]}`);
        }
      }
    }
  }
}

/** In which `probe` asks for the version, `ana` meets a fault and `bo` has the same without it. */
interface Fault {
  code: string;
  rules: Partial<Record<'catalogs' | 'schemas' | 'tables' | 'queries', object[]>>;
  /** What the engine says to ana. */
  refusal: RegExp;
  /** What it says to bo; default: it runs. */
  otherwise?: string;
  /** In place of the statement that the finding gives. */
  statement?: string;
  /** To which `acl explain` says no for ana; null: it knows of no fault. Default: reading. */
  question?: Question | null;
}

const NATION = { catalog: 'tpch', schema: 'tiny', table: 'nation' };
const NOTES = { catalog: 'memory', schema: 'checked', table: 'notes' };
const reading = (user: string, rule: object = {}): object => ({ user, ...NATION, privileges: ['SELECT'], ...rule });
const readings = (wrong: object, right: object = {}) => ({ tables: [reading('ana', wrong), reading('bo', right)] });
const writing = (user: string, rule: object = {}): object => ({
  ...{ user, ...NOTES, privileges: ['SELECT', 'INSERT', 'UPDATE'] },
  ...rule,
});
const asked = (privilege: 'SELECT' | 'INSERT' | 'UPDATE', resource: object): Question => ({
  ...{ about: 'privilege', privilege, resource },
});
const LISTED = { catalog: 'system', schema: 'jdbc' };
const FRANCE = "name = 'FRANCE'";
const HIDDEN_NAME = { name: 'name', allow: false };
const MASKED = { columns: [{ name: 'text', mask: "'x'" }] };

const FAULTS: Record<string, Fault> = {
  'people who enter no catalog of a rule': {
    code: 'rule-without-entry',
    rules: { catalogs: [{ user: 'bo', catalog: 'tpch', allow: 'read-only' }], tables: [reading('ana'), reading('bo')] },
    refusal: /^PERMISSION_DENIED: .*Cannot access catalog tpch/,
  },
  'writing where a catalog is read-only': {
    code: 'rule-read-only',
    rules: {
      catalogs: [{ user: 'ana', catalog: 'memory', allow: 'read-only' }, { allow: 'all' }],
      tables: [writing('ana'), writing('bo')],
    },
    refusal: /^PERMISSION_DENIED: .*Cannot insert into table/,
    question: asked('INSERT', NOTES),
  },
  'owning a schema where a catalog is read-only': {
    code: 'rule-read-only',
    rules: {
      catalogs: [{ user: 'ana', catalog: 'memory', allow: 'read-only' }, { allow: 'all' }],
      schemas: [
        { catalog: 'memory', schema: 'made', owner: true, user: 'ana' },
        { user: 'bo', owner: true },
      ],
      tables: [],
    },
    refusal: /^PERMISSION_DENIED: .*Cannot create schema memory.made/,
    question: { about: 'schema-ownership', resource: { catalog: 'memory', schema: 'made' } },
  },
  'people who execute nothing': {
    code: 'rules-queries-closed',
    rules: { queries: [{ user: 'bo|probe', allow: ['execute'] }], tables: [reading('ana|bo')] },
    refusal: /^PERMISSION_DENIED: .*Cannot execute query/,
    question: { about: 'queries', right: 'execute' },
  },
  'people without system.jdbc': {
    code: 'rules-listings-closed',
    rules: { tables: [{ user: 'bo', ...LISTED, privileges: ['SELECT'] }, reading('ana|bo')] },
    refusal: /^PERMISSION_DENIED: .*Cannot select from table system.jdbc.tables/,
    question: asked('SELECT', { ...LISTED, table: 'tables' }),
  },
  ...Object.fromEntries(
    ["name = ('FRANCE'", "name = 'FRANCE", `${FRANCE};`, `WHERE ${FRANCE}`, "name == 'FRANCE'"].map((filter) => [
      `the filter ${filter}`,
      { code: 'expression-syntax', rules: readings({ filter }, { filter: FRANCE }), refusal: /^INVALID_ROW_FILTER: / },
    ]),
  ),
  'a mask with ==': {
    code: 'expression-syntax',
    rules: readings(
      { columns: [{ name: 'comment', mask: "IF(name == 'FRANCE', comment)" }] },
      { columns: [{ name: 'comment', mask: `IF(${FRANCE}, comment)` }] },
    ),
    refusal: /^INVALID_COLUMN_MASK: /,
  },
  'a filter by a column that is hidden': {
    code: 'expression-hidden-column',
    rules: readings({ filter: FRANCE, columns: [HIDDEN_NAME] }, { filter: 'nationkey = 6', columns: [HIDDEN_NAME] }),
    refusal: /^PERMISSION_DENIED: /,
  },
  'a mask by a column that is hidden': {
    code: 'expression-hidden-column',
    rules: readings(
      { columns: [{ name: 'comment', mask: `IF(${FRANCE}, comment)` }, HIDDEN_NAME] },
      { columns: [{ name: 'comment', mask: 'IF(nationkey = 6, comment)' }, HIDDEN_NAME] },
    ),
    refusal: /^PERMISSION_DENIED: /,
  },
  'INSERT beside a mask of a hidden column': {
    code: 'expression-write',
    rules: {
      tables: [
        writing('ana', { columns: [{ name: 'text', allow: false, mask: "'x'" }] }),
        writing('bo', { columns: [{ name: 'text', allow: false }] }),
      ],
    },
    refusal: /^NOT_SUPPORTED: .*column masks/,
    question: asked('INSERT', NOTES),
  },
  'INSERT beside a mask': {
    code: 'expression-write',
    rules: { tables: [writing('ana', MASKED), writing('bo')] },
    refusal: /^NOT_SUPPORTED: .*column masks/,
    question: asked('INSERT', NOTES),
  },
  'UPDATE beside a filter': {
    code: 'expression-write',
    rules: { tables: [writing('ana', { filter: 'id = 1' }), writing('bo')] },
    refusal: /^NOT_SUPPORTED: .*row filter/,
    otherwise: 'NOT_SUPPORTED: This connector does not support modifying table rows',
    question: asked('UPDATE', NOTES),
  },
  'a filter on every table of a catalog': {
    code: 'expression-every-table',
    rules: readings({ schema: '.*', table: '.*', filter: FRANCE }, { schema: '.*', table: '.*' }),
    refusal: /^COLUMN_NOT_FOUND: /,
    statement: 'SELECT count(*) FROM tpch.tiny.orders',
    question: null,
  },
};

/** A statement that a finding says fails, as the engine reads it. */
function statementIn(witness = ''): { who: string; sql: string } {
  const { who = '', sql = '' } = /^(?<who>\w+) on .*?: (?<sql>[A-Z].*?) fails/.exec(witness)?.groups ?? {};
  const whole = sql
    .replace('SELECT *', 'SELECT count(*)')
    .replace(/^(INSERT .*) …$/, "$1 VALUES (1, 'x')")
    .replace(/^(UPDATE .*) …$/, '$1 id = 2');
  return { who, sql: whole };
}

describe('what grantline acl check says of rules that the engine loads', () => {
  const stack = openStack(process.env);
  const kubectl = kubectlOf(stack);
  const ask = (user: string, sql: string): Promise<Answer> =>
    runStatement(stack.engines.insecure, { mode: 'insecure', family: 'X-Trino', user }, sql);
  const openly = async (...statements: string[]): Promise<void> => {
    await openEngine(stack);
    for (const sql of statements) expect(await ask('maker', sql)).toMatchObject({ kind: 'rows' });
  };
  let versions = 0;
  const publish = async (sections: Fault['rules']): Promise<string> => {
    const property = `grantline_rules_${(versions += 1)}`;
    const text = JSON.stringify({
      ...{ catalogs: [{ allow: 'all' }], schemas: [], queries: [{ allow: ['execute'] }], impersonation: [] },
      ...sections,
      system_session_properties: [{ user: 'probe', property, allow: true }],
    });
    await editRules(kubectl, text);
    await untilRulesInForce(text, (sql) => ask('probe', sql));
    return text;
  };
  beforeAll(async () => {
    await openly('CREATE SCHEMA memory.checked', 'CREATE TABLE memory.checked.notes (id bigint, text varchar)');
    await publish({ tables: [] });
  });
  afterAll(async () => {
    await openly(
      ...['DROP TABLE memory.checked.notes', 'DROP SCHEMA memory.checked', 'DROP SCHEMA IF EXISTS memory.made'],
    );
    await emptyRules(kubectl);
  });

  it.each(Object.entries(FAULTS))('is what the engine answers: %s', async (_, fault) => {
    const { code, rules: sections, refusal, otherwise = 'rows', question = asked('SELECT', NATION) } = fault;
    const text = await publish(sections);
    const [found, ...others] = checkText(text, NO_SETTINGS).filter((finding) => finding.code === code);
    const { who, sql } = statementIn(found?.witness);
    expect({ who, others }).toEqual({ who: 'ana', others: [] });
    const { rules } = readLeniently(text);
    const answers = [];
    for (const name of ['ana', 'bo']) {
      const answer = await ask(name, fault.statement ?? sql);
      const said = answer.kind === 'failed' ? `${answer.errorName}: ${answer.message}` : answer.kind;
      const explained = rules && question && explainForeign(rules, { name, groups: [] }, question, new WorkBudget());
      answers.push({ said, explained: explained === null || (explained.kind === 'decided' && explained.allowed) });
    }
    expect(answers).toEqual([
      { said: expect.stringMatching(refusal) as string, explained: question === null },
      { said: otherwise, explained: true },
    ]);
  });
});
