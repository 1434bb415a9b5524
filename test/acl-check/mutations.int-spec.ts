import fc from 'fast-check';
import { checkFile } from '../../src/commands/check/check-file.js';
import { reportLines, sarifReport } from '../../src/commands/check/reports.js';
import { corpusCases } from './corpus-cases.js';
import { runs } from '../support/landing.js';

const SETTINGS = {
  serviceAccounts: ['svc'],
  writableCatalogs: ['lake'],
  readableCatalogs: ['sales'],
  metadataCatalog: 'grantline',
};

/** What breaks readers: syntax of JSON, YAML and patterns, long runs, and bytes that are no text. */
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  ':',
  '\\',
  '\n',
  '\r',
  '\t',
  '\0',
  'null',
  '-',
  '---\n',
  '|',
  '>',
  '&a',
  '*a',
  '#',
  '//',
  '/*',
  "'",
  '.*',
  '(',
  ')',
  '(?i)',
  '{2}',
  '\\\\Q',
  '[[',
  '&&',
  '\\\\p{',
  '0',
  '1e9',
  '\ufeff',
  '\ud800',
  '\u2028',
  '((((((((((',
  '[[[[[[[[[[',
  'a{999999999}',
];

describe('acl check on mutated files', () => {
  const texts = corpusCases().map(({ text }) => text);

  it('ends with findings, and never with an exception', async () => {
    const mutation = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      removed: fc.nat({ max: 12 }),
      added: fc.oneof(fc.constantFrom('', ...PIECES), fc.string({ maxLength: 4 })),
    });
    const file = fc.record({
      text: fc.constantFrom(...texts),
      other: fc.constantFrom(...texts),
      mutations: fc.array(mutation, { minLength: 1, maxLength: 4 }),
      byte: fc.option(fc.nat({ max: 255 })),
    });
    await fc.assert(
      fc.asyncProperty(file, async ({ text, other, mutations, byte }) => {
        let mutated = text;
        for (const { at, removed, added } of mutations) {
          const place = Math.floor(at * mutated.length);
          const piece = added === '' ? other.slice(0, 40) : added;
          mutated = mutated.slice(0, place) + piece + mutated.slice(place + removed);
        }
        const bytes = Buffer.from(mutated);
        if (byte !== null && bytes.length > 0) bytes[byte % bytes.length] = byte;
        const checked = await checkFile('mutated', bytes, SETTINGS);
        const lines = checked.text.split('\n');
        for (const { line, column } of checked.findings) {
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
        }
        expect(reportLines([checked]).at(-1)).toContain('1 file checked');
        expect(sarifReport([checked])).toHaveProperty('version', '2.1.0');
      }),
      // MUTATIONS=10000 takes a minute.
      { numRuns: Number(process.env['MUTATIONS'] ?? runs(400)) },
    );
  });
});
