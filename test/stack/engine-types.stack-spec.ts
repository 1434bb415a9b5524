import { connect, type Connection, NamedRow, type NativeValue, type Row } from '../../src/query-engine/client/index.js';
import { INTERNAL, TYPES } from './engine-types/types.js';
import { emptyRules } from './running/config-map.js';
import { openEngine } from './running/open-engine.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);

describe('values of the engine, as the DB-API hands them out', () => {
  let connection: Connection;
  const warnings: unknown[] = [];

  beforeAll(async () => {
    const onWarning = (...warning: unknown[]) => void warnings.push(warning);
    connection = connect({ url: await openEngine(stack), user: 'ana', onWarning });
  });
  afterAll(async () => {
    await connection.close();
    await emptyRules(kubectlOf(stack));
  });

  async function rowsOf(sql: string): Promise<{ rows: Row[]; types: string[] }> {
    const cursor = connection.cursor();
    await cursor.execute(sql);
    const types = (cursor.description ?? []).map(({ typeCode }) => typeCode);
    return { rows: await cursor.fetchAll(), types };
  }

  it.each(TYPES.map((tested) => [tested.type, tested] as const))('%s', async (type, tested) => {
    const { values, text = (value) => `CAST(${value} AS varchar)`, written = String, read = (own) => own } = tested;
    const valueTable = `(${values.map((value, at) => `SELECT ${at}, ${value}`).join(' UNION ALL ')}) AS t (at, x)`;
    const row = (value: string) => `CAST(ROW(${value}, NULL) AS ROW("a field" ${type}, n ${type}))`;
    const list = `ARRAY[MAP(ARRAY['k', 'none'], ARRAY[${row('x')}, NULL]), NULL, MAP(ARRAY['k'], ARRAY[${row('NULL')}])]`;
    const key = tested.isNoKey === true ? 'NULL' : 'MAP(ARRAY[x], ARRAY[1])';
    const sql = `SELECT x, ${text('x')}, CAST(NULL AS ${type}), ${list}, ${key} FROM ${valueTable} ORDER BY at`;
    const { rows, types } = await rowsOf(sql);

    expect(types[0]?.toLowerCase()).toBe((tested.named ?? type).toLowerCase());
    expect(rows).toHaveLength(values.length);
    expect(rows.map(([value]) => written(value))).toEqual(rows.map(([, own]) => read(own as string)));
    for (const [value = null, , none, nested, map] of rows) {
      expect(none).toBeNull();
      expect(nested).toEqual([
        new Map([
          ['k', rowOf(value)],
          ['none', null],
        ]),
        null,
        new Map([['k', rowOf(null)]]),
      ]);
      expect(fieldOf(nested)).toEqual(value);
      // A Map of JavaScript has no negative zero.
      expect(map && [...(map as Map<unknown, number>)]).toEqual(map && [[Object.is(value, -0) ? 0 : value, 1]]);
    }
  });

  it('are of all types that the engine lists, each of them tried', async () => {
    const { rows } = await rowsOf('SELECT DISTINCT type_name FROM system.jdbc.types');
    const tried = new Set([...TYPES.map(({ type }) => baseOf(type)), ...INTERNAL]);

    expect(rows.map(([name]) => name as string).filter((name) => !tried.has(baseOf(name)))).toEqual([]);
    expect(await rowsOf('SELECT NULL, ARRAY[]')).toEqual({ rows: [[null, []]], types: ['unknown', 'array(unknown)'] });
    expect(warnings).toEqual([]);
  });
});

function baseOf(type: string): string {
  return type
    .replace(/\(\d+\)/, '')
    .replace(/\(.*$/, '')
    .toLowerCase();
}

function rowOf(value: NativeValue): NamedRow<NativeValue> {
  return new NamedRow(['a field', 'n'], [value, null]);
}

/** By its name, from inside of the list. */
function fieldOf(list: unknown): unknown {
  const [map] = list as [Map<string, unknown>];
  const row = map.get('k');
  return row instanceof NamedRow ? row.get('a field') : 'no row';
}
