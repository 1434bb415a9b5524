import fc from 'fast-check';
import { JsonScanner, parseWithoutRounding } from './json-scanner.js';
import { PageRows } from './page-rows.js';
import { ProtocolBreach } from './reading.js';

const scan = (json: string): PageRows => PageRows.scan(new JsonScanner(Buffer.from(json)));

describe('PageRows', () => {
  it('are read as the whole list would be, from any row to any other, with blanks anywhere', () => {
    const row = fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 200 }), fc.nat(200), fc.nat(200), fc.nat(2), (list, a, b, indent) => {
        const json = JSON.stringify(list, null, indent);
        const rows = scan(json);
        const [from, to] = [Math.min(a, b, list.length), Math.min(Math.max(a, b), list.length)];

        expect(rows.length).toBe(list.length);
        const read = [...rows.pieces(from, to)].map((piece) => parseWithoutRounding(piece)).flat();
        expect(read).toEqual((parseWithoutRounding(Buffer.from(json))[0] as unknown[]).slice(from, to));
      }),
    );
  });

  it('are read without losing a digit', () => {
    const number = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.integer());
    const digits = fc.stringMatching(/^[0-9]{10,20}$/).map((text) => `"${text}"`);
    const value = fc.oneof(
      number.map(String),
      digits,
      fc.json({ maxDepth: 2 }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.constantFrom('null', '"\\\\"', '"\\""'),
    );
    fc.assert(
      fc.property(
        fc.array(fc.array(value, { maxLength: 4 }), { maxLength: 9 }),
        fc.constantFrom('', ' ', '\n'),
        (list, gap) => {
          const rows = list.map((values) => `[${values.join(`${gap},`)}]`);
          const json = `[${gap}${rows.join(`,${gap}`)}${gap}]`;

          expect([...scan(json).batches()].flat()).toEqual(parseWithoutRounding(Buffer.from(json))[0]);
        },
      ),
    );
  });

  it('come in pieces of 128 kibibytes, which begin where the rows do that are asked for', () => {
    const list = Array.from({ length: 5_000 }, (_, at) => [at, 'x'.repeat(96)]);
    const rows = scan(JSON.stringify(list));
    for (const [from, to] of [
      [0, 5_000],
      [700, 4_999],
      [4_000, 4_001],
    ] as const) {
      const pieces = [...rows.pieces(from, to)];
      expect(pieces.flatMap((piece) => parseWithoutRounding(piece))).toEqual(list.slice(from, to));
      expect(pieces).toHaveLength(to - from === 1 ? 1 : 5);
    }
  });

  it('know what their heaviest row would weigh, of which small values take many times their bytes', () => {
    expect(scan(`[[1],[${'[1],'.repeat(999)}[1]]]`).maxRowHeapBytes).toBeGreaterThan(64_000);
    expect(scan(`[["${'x'.repeat(4_000)}"]]`).maxRowHeapBytes).toBeLessThan(9_000);
  });

  it.each(['[', '[[1]', '[[1],]', '[,[1]]', '[[1] [2]]', '[["1]]', ']', '[[1],'])('refuse %j', (json) => {
    expect(() => [...scan(json).batches()].flat()).toThrow(ProtocolBreach);
  });
});
