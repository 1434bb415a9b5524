import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import type { Column, EngineType } from '../../src/query-engine/domain/engine-type.js';
import { apiConverter, type ApiValue } from '../../src/query-engine/domain/engine-value.js';
import { JsonScanner, parseWithoutRounding } from '../../src/query-engine/domain/json-scanner.js';
import { partsOfRows } from '../../src/query-engine/domain/large-rows.js';
import { PageRows } from '../../src/query-engine/domain/page-rows.js';
import { ProtocolBreach } from '../../src/query-engine/domain/reading.js';
import { ROW_TO_TEXT, RowEncoder } from '../../src/query-engine/domain/row-encoder.js';
import { RowLoop, type RowsFormat } from '../../src/query-engine/domain/row-loop.js';

const LOOP = new RowLoop(readFileSync('dist/row-loop.wasm'));
const FORMATS = ['json', 'ndjson', 'csv'] as const;
const SCALARS = ['boolean', 'integer', 'bigint', 'decimal', 'float', 'varbinary', 'text'] as const;

/** Every row parsed as a whole, converted, and written again. */
function decoded(rows: string, columns: readonly Column[], format: RowsFormat): string {
  const convert = apiConverter({
    kind: 'row',
    fields: columns.map(({ name, parsedType }) => ({ name, type: parsedType })),
  });
  const list = parseWithoutRounding(Buffer.from(rows))[0] as unknown[];
  const lines = list.map((row) => (row === null ? notARow() : ROW_TO_TEXT[format](convert(row) as ApiValue[])));
  return asBytes(lines.join(''));
}

/** Lone surrogates are lost on the way. */
const asBytes = (text: string): string => Buffer.from(text).toString();

const notARow = (): never => {
  throw new ProtocolBreach('a row that is not a list');
};

function encoded(rows: string | Buffer, columns: readonly Column[], format: RowsFormat): string {
  const scanner = new JsonScanner(Buffer.from(rows));
  const page = PageRows.scan(scanner, LOOP);
  scanner.expectEnd();
  const encoder = new RowEncoder(columns, format, LOOP);
  return [...page.pieces(0, page.length)].map((piece) => Buffer.concat([...encoder.encode(piece)]).toString()).join('');
}

/** A number of sixteen or seventeen digits is written as it came: here as the shortest of its double. */
const shortest = (text: string): string =>
  text.replaceAll(/\d+\.\d+/g, (digits) => (/^[\d.]{17,19}$/.test(digits) ? String(Number(digits)) : digits));

const outcome = (work: () => string): string => {
  try {
    return shortest(work());
  } catch (error) {
    if (error instanceof ProtocolBreach) return 'a breach';
    throw error;
  }
};

const columnsOf = (shapes: readonly EngineType[]): Column[] =>
  shapes.map((shape, at) => ({ name: `c${at}`, type: 'any', signature: {}, parsedType: shape }));

const LONGS: EngineType = { kind: 'array', element: { kind: 'bigint' } };
const PAIR: EngineType = {
  kind: 'row',
  fields: [
    { name: 'a', type: { kind: 'text' } },
    { name: 'b', type: LONGS },
  ],
};
const TEXT = columnsOf([{ kind: 'text' }]);

const mapOf = (count: number): string => `{${Array.from({ length: count }, (_, key) => `"${key}":1`).join(',')}}`;

const { type: anyType } = fc.letrec<{ type: EngineType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom(...SCALARS).map((kind): EngineType => ({ kind })),
    fc.constant<EngineType>({ kind: 'opaque', name: 'a plugin’s own' }),
    tie('type').map((element): EngineType => ({ kind: 'array', element })),
    fc.tuple(tie('type'), tie('type')).map(([key, value]): EngineType => ({ kind: 'map', key, value })),
    fc
      .array(tie('type'), { maxLength: 3 })
      .map((types): EngineType => ({ kind: 'row', fields: types.map((type) => ({ name: null, type })) })),
  ),
}));

const digits = (max: number): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom(...Array.from('0001234567899')), { minLength: 1, maxLength: max })
    .map((all) => all.join(''));
const sign = fc.constantFrom('', '', '-');
const exponent = fc
  .tuple(fc.constantFrom('', '', '', 'E', 'e-', 'E+'), digits(2))
  .map(([e, n]) => (e === '' ? '' : e + n));
/** As JSON writes numbers, and as it does not. */
const anyNumber = fc
  .tuple(
    sign,
    fc.oneof(digits(3), digits(20)),
    fc.oneof(
      fc.constantFrom('', '.0', '.'),
      digits(18).map((d) => `.${d}`),
    ),
    exponent,
  )
  .map((parts) => parts.join(''));
const goodNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map((n) => `${n}.0`),
  fc.maxSafeInteger().map(String),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.tuple(fc.nat(10), fc.nat(99_999_999)).map(([zeros, n]) => `0.${'0'.repeat(zeros)}${n}`),
);
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.string().map((text) => JSON.stringify(text).replaceAll('/', '\\/')),
  fc
    .array(fc.constantFrom('a', ',', '\\"', '\\\\', '\\n', '\\u0041', '\\u001F', '\\ud83d', 'é', '\ud83d\ude00'), {
      maxLength: 6,
    })
    .map((all) => `"${all.join('')}"`),
  fc.constantFrom('"NaN"', '"-Infinity"', '"1.50"', '""', '"-"'),
);

/** A value as the engine might write it: mostly of its type. */
function valueOf(type: EngineType): fc.Arbitrary<string> {
  const own = (): fc.Arbitrary<string> => {
    switch (type.kind) {
      case 'boolean':
        return fc.constantFrom('true', 'false');
      case 'integer':
      case 'bigint':
      case 'float':
        return fc.oneof({ weight: 4, arbitrary: goodNumber }, anyNumber, anyText);
      case 'decimal':
      case 'varbinary':
      case 'text':
      case 'opaque':
        return fc.oneof({ weight: 4, arbitrary: anyText }, goodNumber);
      case 'array':
        return fc.array(valueOf(type.element), { maxLength: 3 }).map((all) => `[${all.join(',')}]`);
      case 'row':
        return fc.tuple(...type.fields.map((field) => valueOf(field.type))).map((all) => `[${all.join(' , ')}]`);
      case 'map':
        return fc
          .uniqueArray(fc.tuple(fc.oneof(fc.nat(20).map(String), fc.string()), valueOf(type.value)), {
            maxLength: 3,
            selector: ([key]) => key,
          })
          .map((all) => `{${all.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`);
    }
  };
  return fc.oneof(
    { weight: 12, arbitrary: own() },
    { weight: 2, arbitrary: fc.constant('null') },
    {
      weight: 1,
      arbitrary: fc.oneof(fc.json({ maxDepth: 2 }), fc.constantFrom('nul', 'truth', '', ' 1', '\t"a"\n', '[]')),
    },
  );
}

/** Columns, and rows of them as the bytes of a page. */
const anyPage = fc.array(anyType, { maxLength: 4 }).chain((shapes) =>
  fc.record({
    columns: fc.constant(columnsOf(shapes)),
    rows: fc
      .array(
        fc.tuple(...shapes.map(valueOf)).map((cells) => `[${cells.join(',')}]`),
        { maxLength: 5 },
      )
      .map((rows) => `[${rows.join(',')}]`),
  }),
);

describe('RowEncoder', () => {
  it.each(FORMATS)('writes %s as all rows parsed, converted and written would be', (format) => {
    fc.assert(
      fc.property(anyPage, ({ columns, rows }) => {
        expect(outcome(() => encoded(rows, columns, format))).toBe(outcome(() => decoded(rows, columns, format)));
      }),
      { numRuns: 500 },
    );
  });

  it('refuses whatever the parser refuses', () => {
    fc.assert(
      fc.property(
        anyPage,
        fc.nat(),
        fc.constantFrom(...Array.from('[]{},:"\\0-.eNtn \u0001')),
        ({ columns, rows }, place, other) => {
          const at = place % rows.length;
          const broken = rows.slice(0, at) + other + rows.slice(at + 1);

          expect(outcome(() => encoded(broken, columns, 'ndjson'))).toBe(
            outcome(() => decoded(broken, columns, 'ndjson')),
          );
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each(['n', 'nul', 't', 'fals', 'nulL'])('refuses %s at the end of the rows', (word) => {
    for (const format of FORMATS) expect(outcome(() => encoded(`[[${word}]]`, TEXT, format))).toBe('a breach');
  });

  it('writes a number of up to seventeen digits as it came', () => {
    const rows = '[[0.30000000000000004,0.10000000000000001,0.100000000000000001]]';

    expect(encoded(rows, columnsOf(Array.from({ length: 3 }, () => ({ kind: 'float' }))), 'ndjson')).toBe(
      '[0.30000000000000004,0.10000000000000001,0.1]\n',
    );
  });

  it('writes bytes that are no UTF-8 as they are read', () => {
    const bytes = Buffer.from('[["a?b"]]');
    bytes[bytes.indexOf('?')] = 0xff;

    expect(encoded(bytes, TEXT, 'ndjson')).toBe('["a\ufffdb"]\n');
  });

  it('makes room for values that grow', () => {
    const list = `[["${'\\u000b'.repeat(300)}"${',1e20,1e20'.repeat(100)}]]`;
    const columns = columnsOf([{ kind: 'text' }, ...Array.from({ length: 200 }, () => ({ kind: 'float' }) as const)]);

    for (const format of FORMATS) expect(encoded(list, columns, format)).toBe(decoded(list, columns, format));
  });

  it.each([
    ['long rows', [{ kind: 'text' }, { kind: 'bigint' }], `[["${'é,'.repeat(150_000)}",7],["\\u0041",null]]`],
    ['values that grow beyond it', [{ kind: 'text' }], `[["\\u0041${'é'.repeat(120_000)}"],["b"]]`],
    ['lists', [LONGS, { kind: 'text' }], `[[[${'9223372036854775807,'.repeat(30_000)}null],"a"],[[1],null]]`],
    ['lists of lists', [{ kind: 'array', element: LONGS }], `[[[${'[1],[],null,'.repeat(40_000)}[2]]]]`],
    ['rows of lists', [PAIR], `[[["a",[${'1,'.repeat(200_000)}2]]]]`],
    ['columns', Array.from({ length: 70_000 }, () => ({ kind: 'boolean' })), `[[${'null,'.repeat(69_999)}true]]`],
  ] as [string, EngineType[], string][])('writes %s for which the loop has no room', (_, shapes, list) => {
    const columns = columnsOf(shapes);
    for (const format of FORMATS) expect(encoded(list, columns, format)).toBe(decoded(list, columns, format));
  });

  it('writes large rows in parts, as if they were whole', () => {
    const valuesOf = (work: () => string): unknown => {
      const lines = outcome(work);
      return lines === 'a breach' ? lines : (JSON.parse(`[${lines.trimEnd().replaceAll('\n', ',')}]`) as unknown);
    };
    const someRows = anyPage.filter(({ rows }) => rows !== '[]');
    fc.assert(
      fc.property(someRows, ({ columns, rows }) => {
        const fields = columns.map(({ name, parsedType: type }) => ({ name, type }));
        const source = Buffer.from(rows.slice(1, -1));
        const inParts = (): string => asBytes([...partsOfRows(source, { kind: 'row', fields }, 'ndjson', 4)].join(''));
        expect(valuesOf(inParts)).toEqual(valuesOf(() => decoded(rows, columns, 'ndjson')));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a list', LONGS, `[${'1,'.repeat(1_000_000)}2]`],
    ['a map', { kind: 'map', key: { kind: 'integer' }, value: { kind: 'integer' } }, mapOf(200_000)],
  ] as [string, EngineType, string][])('writes %s of very many values a small part at a time', (_, shape, value) => {
    for (const format of FORMATS) {
      const parts = [...new RowEncoder(columnsOf([shape]), format, LOOP).encode(Buffer.from(`[${value}]`))];
      expect(parts.length).toBeGreaterThan(10);
      expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(262_144);
    }
  });

  it.each(['[null]', '[["a"],7]', '[["a","b"]]'])('refuses %s', (rows) => {
    const long = `${rows.slice(0, -1)},["${'x'.repeat(300_000)}"]]`;
    for (const list of [rows, long]) expect(() => encoded(list, TEXT, 'ndjson')).toThrow(ProtocolBreach);
  });

  it('refuses a large row with one value more than columns', () => {
    const list = JSON.stringify([['x'.repeat(300_000), 'b']]);
    for (const format of FORMATS) expect(() => encoded(list, TEXT, format)).toThrow(ProtocolBreach);
  });
});
