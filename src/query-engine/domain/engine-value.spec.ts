import fc from 'fast-check';
import { type Column, readColumns, unknownTypes } from './engine-type.js';
import { type ApiValue, apiConverter, nativeRowConverter, NamedRow } from './engine-value.js';
import { ProtocolBreach } from './reading.js';

const scalar = (rawType: string): unknown => ({ rawType, arguments: [] });
const of = (rawType: string, ...parts: unknown[]): unknown => ({
  rawType,
  arguments: parts.map((value) => ({ kind: 'TYPE', value })),
});
const row = (...fields: [string | null, unknown][]): unknown => ({
  rawType: 'row',
  arguments: fields.map(([name, typeSignature]) => ({
    kind: 'NAMED_TYPE',
    value: { ...(name === null ? {} : { fieldName: { name } }), typeSignature },
  })),
});
const columns = (...signatures: unknown[]): Column[] =>
  readColumns(signatures.map((typeSignature) => ({ name: 'c', type: 'any text', typeSignature })));

const apiRows = (given: Column[]) =>
  apiConverter({ kind: 'row', fields: given.map(({ name, parsedType }) => ({ name, type: parsedType })) });

const NESTED = row(
  ['id', scalar('bigint')],
  [null, of('array', scalar('decimal'))],
  ['m', of('map', scalar('integer'), row(['n', scalar('bigint')]))],
);

describe('values', () => {
  it.each([
    ['bigint', 7, '7', 7n],
    ['bigint', '9223372036854775807', '9223372036854775807', 9223372036854775807n],
    ['integer', 7, 7, 7],
    ['decimal', '1.50', '1.50', '1.50'],
    ['number', '1e3', '1e3', '1e3'],
    ['double', 1.5, 1.5, 1.5],
    ['double', 'NaN', 'NaN', Number.NaN],
    ['real', '-Infinity', '-Infinity', -Infinity],
    ['double', '12345678901234567', 12345678901234568, 12345678901234568],
    ['boolean', true, true, true],
    ['varbinary', 'AP8=', 'AP8=', Uint8Array.of(0, 255)],
    ['timestamp', '2026-11-20 12:00:00.123456', '2026-11-20 12:00:00.123456', '2026-11-20 12:00:00.123456'],
    ['json', '{"a":9007199254740993}', '{"a":9007199254740993}', '{"a":9007199254740993}'],
    ['HyperLogLog', 'AP8=', 'AP8=', Uint8Array.of(0, 255)],
    ['BingTile', { x: 1 }, '{"x":1}', '{"x":1}'],
    ['a plugin’s own', 7, '7', '7'],
    ['constructor', [true], '[true]', '[true]'],
    ['unknown', null, null, null],
  ])('%s %j', (type, value, api, native) => {
    expect(apiRows(columns(scalar(type)))([value])).toEqual([api]);
    expect(nativeRowConverter(columns(scalar(type)))([value])).toEqual([native]);
  });

  it('hands out any bigint that is a safe integer', () => {
    fc.assert(
      fc.property(fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.constantFrom(0, -1, 2 ** 32, -(2 ** 32))), (given) => {
        expect(nativeRowConverter(columns(scalar('bigint')))([given])).toEqual([BigInt(given)]);
      }),
    );
  });

  it('converts inside rows, arrays and maps, to any depth, with NULL anywhere', () => {
    const value = [1, ['0.10', null], { '1': ['9223372036854775807'], '2': null }];

    expect(apiRows(columns(NESTED))([value])).toEqual([
      ['1', ['0.10', null], { '1': ['9223372036854775807'], '2': null }],
    ]);
    expect(nativeRowConverter(columns(NESTED))([value])).toEqual([
      [
        1n,
        ['0.10', null],
        new Map([
          [1, [9223372036854775807n]],
          [2, null],
        ]),
      ],
    ]);
  });

  it('reads the fields of a row by their names, at any depth', () => {
    const [value] = nativeRowConverter(columns(row(['a', row(['b', scalar('bigint')], [null, scalar('date')])])))([
      [[7, '2026-01-02']],
    ]) as [NamedRow<unknown>];
    const inner = value.get('a') as NamedRow<unknown>;

    expect([inner.names, inner.get('b'), inner.get('c'), inner.map(String)]).toEqual([
      ['b', null],
      7n,
      undefined,
      ['7', '2026-01-02'],
    ]);
    expect(inner.map(String)).not.toBeInstanceOf(NamedRow);
  });

  it.each([
    ['boolean', { true: 1, false: 2 }, [true, false]],
    ['double', { NaN: 1, '-Infinity': 2, '1.0E10': 3 }, [Number.NaN, -Infinity, 1e10]],
    ['bigint', { '-9223372036854775808': 1 }, [-9223372036854775808n]],
    ['varbinary', { 'AP8=': 1 }, [Uint8Array.of(0, 255)]],
  ])('reads keys of type %s', (type, map, keys) => {
    const read = nativeRowConverter(columns(of('map', scalar(type), scalar('integer'))))([map]);
    expect(read).toEqual([new Map(keys.map((key, at) => [key, at + 1]))]);
  });

  it('names the types that it does not know, wherever they are', () => {
    const given = columns(of('array', row(['r', of('map', scalar('json'), scalar('Shape'))])), scalar('KdbTree'));
    expect(unknownTypes(given.map(({ parsedType }) => parsedType))).toEqual(['Shape']);
  });

  it('keeps a key that looks like a prototype a key', () => {
    const map = JSON.parse('{"__proto__":1}') as unknown;
    const [read] = apiRows(columns(of('map', scalar('varchar'), scalar('bigint'))))([map]) as ApiValue[];

    expect(JSON.stringify(read)).toBe('{"__proto__":"1"}');
  });

  it('reads the names of a row’s fields, and types without a signature', () => {
    expect(columns(NESTED)[0]?.parsedType).toMatchObject({ fields: [{ name: 'id' }, { name: null }, { name: 'm' }] });
    expect(readColumns([{ name: 'd', type: 'decimal(3, 1)' }])).toMatchObject([{ parsedType: { kind: 'decimal' } }]);
  });

  it.each([
    [scalar('bigint'), [true]],
    [scalar('bigint'), []],
    [of('array', scalar('bigint')), [1]],
    [of('map', scalar('bigint'), scalar('bigint')), [[1]]],
    [NESTED, [[1]]],
    [scalar('bigint'), 'no row'],
  ])('refuses what a type cannot hold: %j %j', (signature, given) => {
    expect(() => apiRows(columns(signature))(given)).toThrow(ProtocolBreach);
  });

  it.each([
    ['bigint', 1.5],
    ['bigint', '1.5'],
    ['bigint', ''],
    ['bigint', '0x1f'],
    ['bigint', '9'.repeat(100)],
    ...['bigint', 'integer', 'decimal'].map((type): [string, number] => [type, 2 ** 53]),
    ['integer', 1.5],
    ['integer', '1'],
    ['boolean', 1],
    ['double', 'abc'],
    ['varchar', 1],
    ['varbinary', true],
  ])('hands no %s out that is none: %j', (type, value) => {
    expect(() => nativeRowConverter(columns(scalar(type)))([value])).toThrow(ProtocolBreach);
    expect(() => nativeRowConverter(columns(of('array', scalar(type))))([[value]])).toThrow(ProtocolBreach);
  });

  it.each([
    ['bigint', '1.5'],
    ['integer', 'x'],
    ['boolean', 'yes'],
    ['double', 'x'],
  ])('hands out no key of type %s that is none: %j', (type, key) => {
    const read = nativeRowConverter(columns(of('map', scalar(type), scalar('integer'))));
    expect(() => read([{ [key]: 1 }])).toThrow(ProtocolBreach);
  });

  it.each([[of('array')], [of('map', scalar('bigint'))], ['text'], [{ rawType: 7 }]])(
    'refuses a signature that is none: %j',
    (signature) => {
      expect(() => readColumns([{ name: 'c', type: 'row(x)', typeSignature: signature }])).toThrow(ProtocolBreach);
    },
  );
});
