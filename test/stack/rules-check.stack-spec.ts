import fc from 'fast-check';
import { decodeFile } from '../../src/commands/check/decode.js';
import { checkText } from '../../src/rules-files/check/check-text.js';
import { isRefused } from '../../src/rules-files/check/checks.js';
import { ENGINE_FORMAT, type SectionFormat } from '../../src/rules-files/check/engine-format.js';
import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { corpusCases } from '../acl-check/corpus-cases.js';
import { keptCases } from '../acl-import/published-cases.js';
import { questionOfWitness } from './engine-oracle/door-witness.js';
import { inPairs, Oracle } from './engine-oracle/oracle.js';
import { openStack } from './stack.js';

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

  it('does so for any value of any field, also of one whose other spelling comes before or after it', async () => {
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
const FITTING: Readonly<Record<SectionFormat['fields'][string]['reads'], string>> = {
  ...{ pattern: '"x"', 'new-user': '"x"', text: '"x"', expression: '"x"', 'catalog-mode': '"all"', flag: 'true' },
  ...{ words: '[]', columns: '[]', 'no-words': '[]', environment: '{"user":"a"}' },
};
const WITH_OTHERS = ['new_user', 'privileges', 'principal', 'user', 'allow'];

/** One rule each: a value alone, before and after another one in any spelling, beside what the section requires. */
function* rulesOfEveryField(): Iterable<string> {
  for (const [section, { fields, aliases = {} }] of Object.entries<SectionFormat>(ENGINE_FORMAT)) {
    for (const [key, { reads }] of Object.entries(fields)) {
      const others = WITH_OTHERS.filter((each) => each in fields && each !== key);
      const beside = others.map((each) => `"${each}":${FITTING[fields[each]?.reads ?? 'text']}`);
      const rule = (...members: string[]) => `{"${section}":[{${members.join(',')}}]}`;
      const spellings = [key, ...Object.keys(aliases).filter((alias) => aliases[alias] === key)];
      for (const value of VALUES) {
        yield rule(...beside, `"${key}":${value}`);
        for (const one of spellings)
          for (const other of spellings) {
            yield rule(`"${one}":${value}`, ...beside, `"${other}":${FITTING[reads]}`);
            if (one !== other) yield rule(`"${one}":${FITTING[reads]}`, ...beside, `"${other}":${value}`);
          }
      }
    }
  }
}
