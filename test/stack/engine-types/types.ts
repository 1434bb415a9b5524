/** One type of the engine, and how its values are told apart from others. */
export interface TypeUnderTest {
  type: string;
  /** SQL of its values; NULL is tried besides. */
  values: readonly string[];
  /** SQL of a value's own text, as the engine makes it; default `CAST(x AS varchar)`. */
  text?: (value: string) => string;
  /** How our value is written to be compared with that text; default String. */
  written?: (value: unknown) => unknown;
  /** The engine's text as it is compared with ours. */
  read?: (text: string) => unknown;
  /** What the engine calls the column; default the type. */
  named?: string;
  /** No values of it can be keys of a map. */
  isNoKey?: true;
}

const hex = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex').toUpperCase() : 'no bytes';
const sketch = {
  text: (value: string) => `to_hex(CAST(${value} AS varbinary))`,
  written: hex,
  isNoKey: true,
} as const;
const itself = (value: unknown): unknown => value;

const quoted = (type: string, ...texts: string[]): string[] => texts.map((text) => `${type} '${text}'`);
const cast = (type: string, ...texts: string[]): string[] => texts.map((text) => `CAST('${text}' AS ${type})`);
const digits = (count: number): string => (count === 0 ? '' : `.${'123456789012'.slice(0, count)}`);
const precisions = Array.from({ length: 13 }, (_, precision) => precision);

const TIMES: TypeUnderTest[] = precisions.flatMap((p) => [
  { type: `time(${p})`, values: cast(`time(${p})`, `00:00:00${digits(p)}`, `23:59:59${digits(p)}`) },
  {
    type: `time(${p}) with time zone`,
    values: cast(`time(${p}) with time zone`, `01:02:03${digits(p)}+14:00`, `23:59:59${digits(p)}-13:59`),
  },
  {
    type: `timestamp(${p})`,
    values: cast(
      `timestamp(${p})`,
      `1969-12-31 23:59:59${digits(p)}`,
      `2026-11-20 12:00:00${digits(p)}`,
      `-0001-01-01 00:00:00`,
    ),
  },
  {
    type: `timestamp(${p}) with time zone`,
    values: cast(
      `timestamp(${p}) with time zone`,
      `2026-11-20 12:00:00${digits(p)} Europe/Berlin`,
      `1900-01-01 00:00:00${digits(p)} -13:00`,
    ),
  },
]);

export const TYPES: readonly TypeUnderTest[] = [
  { type: 'boolean', values: ['TRUE', 'FALSE'] },
  { type: 'tinyint', values: cast('tinyint', '-128', '0', '127') },
  { type: 'smallint', values: cast('smallint', '-32768', '32767') },
  { type: 'integer', values: cast('integer', '-2147483648', '2147483647') },
  {
    type: 'bigint',
    values: cast('bigint', '-9223372036854775808', '9223372036854775807', '9007199254740993', '0', '-1'),
  },
  {
    type: 'real',
    values: cast('real', '1.1', '-0.0', '3.4028235E38', '1.4E-45', '16777216', 'NaN', 'Infinity', '-Infinity'),
    // Its text has six digits.
    text: (value) => `CAST(CAST(${value} AS double) AS varchar)`,
    written: (value) => Math.fround(Number(value)),
    read: Number,
  },
  {
    type: 'double',
    values: cast('double', '0.1', '-0.0', '1.7976931348623157E308', '4.9E-324', '1E15', 'NaN', 'Infinity', '-Infinity'),
    written: itself,
    read: Number,
  },
  { type: 'decimal(1, 0)', values: cast('decimal(1,0)', '-9', '0', '9') },
  { type: 'decimal(18, 3)', values: cast('decimal(18,3)', '-999999999999999.999', '0.001') },
  {
    type: 'decimal(38, 38)',
    values: cast('decimal(38,38)', `0.${'0'.repeat(37)}1`, `-0.${'9'.repeat(38)}`),
  },
  { type: 'decimal(38, 0)', values: cast('decimal(38,0)', '9'.repeat(38), `-${'9'.repeat(38)}`) },
  { type: 'number', values: cast('number', '1.50', '0', `-${'9'.repeat(60)}.5`, '1E100', '1E-100') },
  {
    type: 'varchar',
    values: ["''", `'a"b\\c/'`, "'it''s ? ž 名 😀'", "'\t\n'", `U&'\\0000'`, "' a '"].map(
      (it) => `CAST(${it} AS varchar)`,
    ),
  },
  { type: 'varchar(3)', values: cast('varchar(3)', '', 'abc', 'ž') },
  // As text it has no blanks at its end.
  {
    type: 'char(3)',
    values: cast('char(3)', '', 'a', 'abc'),
    text: (value) => `rpad(CAST(${value} AS varchar), 3, ' ')`,
  },
  {
    type: 'varbinary',
    values: ["X''", "X'00'", "X'00FF10'", "to_utf8('ž')"],
    text: (value) => `to_hex(${value})`,
    written: hex,
  },
  {
    type: 'json',
    values: quoted('JSON', '{"a":9007199254740993,"b":[1.50,null]}', '"text"', 'null', '[]', '1e400'),
    text: (value) => `json_format(${value})`,
  },
  {
    type: 'variant',
    values: [`CAST(JSON '{"a":[1,null,"x"]}' AS variant)`, `CAST(BIGINT '9007199254740993' AS variant)`],
    text: (value) => `json_format(CAST(${value} AS json))`,
    named: 'json', // for clients without the capability VARIANT
    isNoKey: true,
  },
  {
    type: 'date',
    values: quoted('DATE', '2026-01-02', '0001-01-01', '9999-12-31', '-0044-03-15', '12345-01-01'),
    written: (value) => String(value).replace(/^[+]/, ''), // of years beyond 9999, which it lacks as text
  },
  ...TIMES,
  {
    type: 'interval day to second',
    values: ["INTERVAL '-1' SECOND", "INTERVAL '100000000' DAY", "INTERVAL '1' DAY - INTERVAL '0.001' SECOND"],
  },
  {
    type: 'interval year to month',
    values: ["INTERVAL '-1' MONTH", "INTERVAL '178956970' YEAR", "INTERVAL '13' MONTH"],
  },
  {
    type: 'uuid',
    values: quoted('UUID', '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
  },
  { type: 'ipaddress', values: quoted('IPADDRESS', '0.0.0.0', '255.255.255.255', '::', '2001:db8::ff00:42:8329') },
  { type: 'HyperLogLog', values: ['approx_set(7)', 'empty_approx_set()'], ...sketch },
  {
    type: 'P4HyperLogLog',
    values: ['CAST(approx_set(7) AS P4HyperLogLog)'],
    ...sketch,
    text: (value) => `to_hex(CAST(CAST(${value} AS HyperLogLog) AS varbinary))`,
  },
  { type: 'qdigest(bigint)', values: ["qdigest_agg(BIGINT '7')"], ...sketch },
  { type: 'qdigest(double)', values: ["qdigest_agg(DOUBLE '7')"], ...sketch },
  { type: 'tdigest', values: ["tdigest_agg(DOUBLE '7')"], ...sketch },
  { type: 'SetDigest', values: ['make_set_digest(7)'], ...sketch },
  {
    type: 'color',
    values: ["color('red')", "color('#0f8')"],
    text: () => "IF(at = 0, 'red', '#00ff88')", // the engine makes no text of it
    isNoKey: true,
  },
];

/** Types that functions of the engine use among themselves, and those that are nothing without others. */
export const INTERNAL = [
  ...['array', 'map', 'row', 'function', 'unknown'],
  ...['codepoints', 'json2016', 'jsonpath', 'sqljsonpath', 'joniregexp', 're2jregexp', 'likepattern'],
];
