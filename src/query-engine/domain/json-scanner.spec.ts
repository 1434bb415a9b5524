import fc from 'fast-check';
import { parseWithoutRounding } from './json-scanner.js';
import { ProtocolBreach } from './reading.js';

const read = (text: string): unknown => parseWithoutRounding(Buffer.from(text))[0];

describe('parseWithoutRounding', () => {
  it.each([
    ['[9223372036854775807]', ['9223372036854775807']],
    ['[-9223372036854775808]', ['-9223372036854775808']],
    ['[999999999999999]', [999999999999999]],
    [
      '[1.2345678901234567890, 12345678901234567890e0, 1e-1234567890123456]',
      [1.2345678901234568, 12345678901234567890, 0],
    ],
    [
      '["1234567890123456789", "\\"1234567890123456789", "\\\\"]',
      ['1234567890123456789', '"1234567890123456789', '\\'],
    ],
    [
      '{"k":[["a",9007199254740993]],"1234567890123456789":1}',
      { k: [['a', '9007199254740993']], '1234567890123456789': 1 },
    ],
  ])('reads %s', (text, value) => {
    expect(read(text)).toEqual(value);
  });

  it('reads any JSON as JSON.parse does, but for the long integers', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        expect(read(text)).toEqual(withLongIntegersAsText(JSON.parse(text)));
      }),
    );
  });

  it('keeps every digit of every 64-bit integer, beside any text', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.string({
          unit: fc.constantFrom('"', '\\', '\0', '\n', '\u007f', '7', ',', ']', 'é', '\u2028', '\ud83d', '🔑'),
        }),
        (integer, text) => {
          const around = Buffer.from(JSON.stringify(text)).toString();
          const values = read(`[${around},${String(integer)},${around}]`);

          expect(values).toEqual([
            text,
            String(integer).replace('-', '').length < 16 ? Number(integer) : String(integer),
            text,
          ]);
        },
      ),
    );
  });

  it.each(['"', '1]', '[1234567890123456', '["1234567890123456'])('refuses %j', (text) => {
    expect(() => read(text)).toThrow(ProtocolBreach);
  });
});

/** The reader's contract for values: an integer that JSON.stringify writes with sixteen digits is text. */
function withLongIntegersAsText(value: unknown): unknown {
  if (typeof value === 'number') return /^-?\d{16,}$/.test(String(value)) ? String(value) : value;
  if (Array.isArray(value)) return value.map(withLongIntegersAsText);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withLongIntegersAsText(inner)]));
}
