import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { JsonScanner } from '../../src/query-engine/domain/json-scanner.js';
import { PageRows } from '../../src/query-engine/domain/page-rows.js';
import { ProtocolBreach } from '../../src/query-engine/domain/reading.js';
import { RowLoop } from '../../src/query-engine/domain/row-loop.js';

const LOOP = new RowLoop(readFileSync('dist/row-loop.wasm'));

/** All that is known of the rows of a list, up to what is behind it. */
function found(json: string, loop: RowLoop | null): unknown {
  const scanner = new JsonScanner(Buffer.from(json));
  try {
    const { length, maxRowHeapBytes, ...rows } = PageRows.scan(scanner, loop);
    return { length, maxRowHeapBytes, rows, at: scanner.position };
  } catch (error) {
    if (error instanceof ProtocolBreach) return error.message;
    throw error;
  }
}

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('\\', '"', '],[', '\\"', '[{,:"'));
const word = fc.constantFrom(
  'null',
  'true',
  '1',
  '-1.5',
  '1e3',
  '123456789012345',
  '1234567890123456',
  '-123456789012345',
);
const value = fc.oneof(
  text.map((value) => JSON.stringify(value)),
  word,
  fc.json({ maxDepth: 3 }),
  fc.double().map(String),
);
const blank = fc.constantFrom('', '', '', ' ', '\n\t');
const row = fc
  .tuple(fc.array(value, { maxLength: 5 }), blank, blank)
  .map(([values, left, right]) => `[${left}${values.join(`${right},`)}]`);
const list = fc.tuple(fc.array(fc.oneof({ weight: 9, arbitrary: row }, value), { maxLength: 30 }), blank, blank);

describe('rows of a page', () => {
  it('are found by the program as they are found one by one', () => {
    fc.assert(
      fc.property(list, ([rows, left, right]) => {
        const json = `[${left}${rows.join(`${right},${left}`)}${right}],"stats":{}}`;
        expect(found(json, LOOP)).toEqual(found(json, null));
      }),
      { numRuns: 2_000 },
    );
  });

  it('too where they are many, or larger than what the program looks through at once', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), row, fc.nat(100_000)), { maxLength: 12 }),
        (runs) => {
          const rows = runs.flatMap(([count, repeated, large]) => [
            ...Array.from({ length: count }, () => repeated),
            ...(large % 3 === 0 ? [`["${'x'.repeat(large)}"]`] : []),
          ]);
          const json = `[${rows.join(',')}]`;
          expect(found(json, LOOP)).toEqual(found(json, null));
        },
      ),
    );
  });

  it('too where the list is cut off, or a byte is another', () => {
    fc.assert(
      fc.property(
        list,
        fc.nat(),
        fc.nat(),
        fc.constantFrom('', '"', '\\', '[', ']', ',', '}', '1'),
        ([rows], at, to, sign) => {
          const json = `[${rows.join(',')}]`;
          const [place, end] = [at % json.length, to % (json.length + 1)];
          const broken = (json.slice(0, place) + sign + json.slice(place + 1)).slice(0, Math.max(1, end));
          expect(found(broken, LOOP)).toEqual(found(broken, null));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('too where they are nested as deeply as any may be, or more deeply', () => {
    const nested = (depth: number): string => `[[1],${'['.repeat(depth)}${']'.repeat(depth)},[2]]`;
    for (const depth of [999, 1_000, 1_001, 2_000])
      expect(found(nested(depth), LOOP)).toEqual(found(nested(depth), null));
    expect(found(nested(1_001), LOOP)).toBe('the answer is nested too deeply');
  });
});
