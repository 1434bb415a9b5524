import fc from 'fast-check';
import { decodeFile } from '../../src/commands/check/decode.js';
import { checkText } from '../../src/trino-rules/check/check-text.js';
import { isRefused } from '../../src/trino-rules/check/checks.js';
import { corpusCases } from '../acl-check/corpus-cases.js';
import { Oracle } from './engine-oracle/oracle.js';
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

  const differenceIn = async (bytes: Uint8Array): Promise<object | null> => {
    const { text, findings } = decodeFile(bytes);
    const refusals = [...findings, ...checkText(text, NO_SETTINGS)].filter(({ code }) => isRefused(code));
    const engine = await oracle.load(bytes);
    return engine.loaded === (refusals.length === 0) ? null : { text, engine, refusals };
  };

  it('calls refused what the engine refuses, and nothing else, in the whole corpus', async () => {
    for (const text of texts) expect(await differenceIn(Buffer.from(text))).toBeNull();
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
    for (const [text, at, removed, added] of fc.sample(mutated, MUTATED)) {
      const place = Math.floor(at * text.length);
      const bytes = Buffer.from(text.slice(0, place) + added + text.slice(place + removed));
      expect(await differenceIn(bytes)).toBeNull();
    }
  });
});
