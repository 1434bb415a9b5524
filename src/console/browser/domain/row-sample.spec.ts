import { NEW_POLICY, type PolicyForm } from './policy-form.js';
import { rowSampleOf, type RowSample } from './row-sample.js';

const form = (part: Partial<PolicyForm>): PolicyForm => ({
  ...NEW_POLICY,
  ...{ catalog: 'sales', schema: 'eu', table: 'or"ders' },
  ...part,
});
const filter = (expression: string) => form({ kind: 'row_filter', expression });
const mask = (expression: string) => form({ kind: 'column_mask', column: 'email', expression });
const column = (name: string) => ({ name, type: 'varchar' });
const rows = (...values: unknown[][]) => ({
  columns: ['id', 'email', '_col2', '_col3'].map(column),
  rows: values,
});
const sampleOf = (...forms: Parameters<typeof rowSampleOf>) => rowSampleOf(...forms) as RowSample;

describe('rows of a draft', () => {
  it('of a filter are those that pass, as it is saved and as it is drafted', () => {
    const { sql, splitRows: read } = sampleOf(filter("region = 'EU' -- so"), filter('true'));

    expect(sql).toBe(
      'SELECT *, coalesce((\ntrue\n), false), coalesce((\nregion = \'EU\' -- so\n), false) FROM "sales"."eu"."or""ders"' +
        " WHERE coalesce((\ntrue\n), false) OR coalesce((\nregion = 'EU' -- so\n), false) LIMIT 100",
    );
    expect(read(rows([1, 'a', true, true], [2, 'b', true, false], [3, 'c', false, true]))).toEqual({
      before: {
        columns: [column('id'), column('email')],
        rows: [
          [1, 'a'],
          [2, 'b'],
        ],
      },
      after: {
        columns: [column('id'), column('email')],
        rows: [
          [1, 'a'],
          [3, 'c'],
        ],
      },
    });
  });

  it('of a mask have its expression in the place of the column', () => {
    const { sql, splitRows: read } = sampleOf(mask("'***'"), null);

    expect(sql).toBe(`SELECT *, true, (\n'***'\n) FROM "sales"."eu"."or""ders" LIMIT 20`);
    expect(read(rows([1, 'a@b', true, '***']))).toMatchObject({
      before: { columns: [column('email'), column('id')], rows: [['a@b', 1]] },
      after: { columns: [column('email'), column('id')], rows: [['***', 1]] },
    });
  });

  it('of a hidden column lack it', () => {
    const { splitRows: read } = sampleOf(form({ kind: 'hidden_column', column: 'email' }), mask("'***'"));

    expect(read(rows([1, 'a@b', '***', true]))).toEqual({
      before: { columns: [column('id'), column('email')], rows: [[1, '***']] },
      after: { columns: [column('id')], rows: [[1]] },
    });
  });

  it.each([
    [form({ kind: 'deny' }), 'A deny takes whole tables: there are no rows to compare.'],
    [form({ table: '', expression: 'true' }), 'Name a table to see its rows.'],
    [form({ kind: 'column_mask', expression: 'NULL' }), 'Name the column to see its rows.'],
    [filter(' '), 'Write the expression to see its rows.'],
  ])('are none without what they need', (draft, reason) => {
    expect(rowSampleOf(draft, null)).toEqual({ reason });
  });
});
