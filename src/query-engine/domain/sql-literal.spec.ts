import fc from 'fast-check';
import { identifier, InvalidParameter, statementText, parametersProblem, sqlProblem } from './sql-literal.js';

describe('statementText', () => {
  it.each([
    ['SELECT 1;', 'SELECT 1'],
    ['SELECT 1 ; \r\n\t', 'SELECT 1 '],
    ['SELECT 1 -- one\n; /* done; */ -- and; out', 'SELECT 1 -- one\n'],
    ['SELECT \';\', "a;" FROM (SELECT \'\'\'\' AS """");', 'SELECT \';\', "a;" FROM (SELECT \'\'\'\' AS """")'],
    [
      'WITH FUNCTION f() RETURNS int BEGIN RETURN 1; END SELECT f();',
      'WITH FUNCTION f() RETURNS int BEGIN RETURN 1; END SELECT f()',
    ],
    ["CREATE FUNCTION f() AS $$ a; ' $$;", "CREATE FUNCTION f() AS $$ a; ' $$"],
    ['SELECT 1 / 2 - $ ä;', 'SELECT 1 / 2 - $ ä'],
    ['SELECT 1; SELECT 2;', 'SELECT 1; SELECT 2'],
    ['SELECT 1;;', 'SELECT 1;'],
  ])('cuts the semicolon at the end of %j', (sql, statement) => {
    expect(statementText(sql, [])).toBe(statement);
  });

  it.each([
    ...['SELECT 1', ' SELECT 1 -- ; ', 'SELECT 1 /* ; */', 'SELECT 1; SELECT 2', '(SELECT 1;)', 'BEGIN RETURN 1; END'],
    ...["SELECT ';", 'SELECT ";', 'SELECT `;', 'SELECT $$;', 'SELECT 1; /* open', 'SELECT 1; /*/', "SELECT ''';"],
    ...["SELECT ';'", "SELECT '--';'", 'SELECT 1;\f', ';', ' ; -- ', ''],
  ])('leaves %j as it is', (sql) => {
    expect(statementText(sql, [])).toBe(sql);
  });

  it('reads texts that are never closed once', () => {
    const sql = `${'/*'.repeat(500_000)};`;
    expect(statementText(sql, [])).toBe(sql);
  });

  it.each([
    [null, 'NULL'],
    [true, 'TRUE'],
    [7, '7'],
    [-0, "DOUBLE '-0.0'"],
    [1.5, "DOUBLE '1.5'"],
    [1e38, "DOUBLE '1e+38'"],
    [-1e300, "DOUBLE '-1e+300'"],
    [Number.NaN, "DOUBLE 'NaN'"],
    [-Infinity, "DOUBLE '-Infinity'"],
    [9223372036854775807n, "BIGINT '9223372036854775807'"],
    ["O'Hara", "'O''Hara'"],
    [new Date('2026-11-20T12:00:00.123Z'), "TIMESTAMP '2026-11-20 12:00:00.123 UTC'"],
    [Uint8Array.of(0, 255), "X'00ff'"],
    [[1, 'a', null], "ARRAY[1, 'a', NULL]"],
  ])('%p', (parameter, literal) => {
    expect(statementText("SELECT ? -- 'it''s'\n;", [parameter])).toBe(
      `EXECUTE IMMEDIATE 'SELECT ? -- ''it''''s''\n' USING ${literal}`,
    );
  });

  it.each([2 ** 53, -(2 ** 62), 2 ** 63, 1e20, -9e37, [1, [2 ** 63]], new Date(Number.NaN)])(
    'refuses %p',
    (parameter) => {
      expect(() => statementText('SELECT ?', [parameter])).toThrow(InvalidParameter);
    },
  );

  it.each([2 ** 53, 2 ** 63])('does not name %p, which perhaps is another number than was sent', (parameter) => {
    const text = 'a whole number beyond 2^53 may have been rounded; send it as text, with a CAST';
    expect(() => statementText('SELECT ?', [parameter])).toThrow(new InvalidParameter(text));
  });

  it('closes every text that it opens, whatever is in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("'", '"', '\\', ';', '-', 'a') }), (text) => {
        const [opened, ...rest] = statementText('SELECT ?', [text]).split(' USING ')[1] ?? '';
        const inside = rest.slice(0, -1).join('');

        expect(opened).toBe("'");
        expect(rest.at(-1)).toBe("'");
        expect(inside.replaceAll("''", '')).not.toContain("'");
      }),
    );
  });
});

describe('identifier', () => {
  it('is quoted whatever it contains', () => {
    expect(identifier('a"b')).toBe('"a""b"');
  });
});

describe('a submission', () => {
  it.each([
    ['SELECT 1', true],
    ['SELECT 1;', true],
    [' \n\t', false],
    ['SELECT \u0000', false],
  ])('sql %j', (sql, good) => {
    expect(sqlProblem(sql) === null).toBe(good);
  });

  it.each([
    [[], true],
    [[null, true, 1.5, 'x', [1, [null]]], true],
    [[{}], false],
    [[[{}]], false],
    ['x', false],
    [null, false],
    [Array.from({ length: 1001 }, () => 1), false],
  ])('parameters %#', (parameters, good) => {
    expect(parametersProblem(parameters) === null).toBe(good);
  });
});
