import { privilegesOn } from '../../trino-rules/model/privilege.js';
import { parsePolicyRule, type PolicyDraft } from './policy.js';

const table = { catalog: 'c', schema: 's', table: 't' };

describe('parsePolicyRule', () => {
  it.each<PolicyDraft>([
    { kind: 'row_filter', resource: table, expression: 'a = 1' },
    { kind: 'column_mask', resource: { catalog: 'c', column: 'x' }, expression: 'NULL' },
    { kind: 'hidden_column', resource: { ...table, column: 'x' } },
    { kind: 'deny', resource: { catalog: 'c' }, privileges: ['SELECT'] },
  ])('takes %j as it is', (draft) => {
    expect(parsePolicyRule(draft)).toEqual(draft);
  });

  it('denies all privileges when none is named, in the order of the engine', () => {
    expect(parsePolicyRule({ kind: 'deny', resource: table })).toHaveProperty('privileges', privilegesOn(table));
    expect(parsePolicyRule({ kind: 'deny', resource: table, privileges: ['UPDATE', 'SELECT'] })).toHaveProperty(
      'privileges',
      ['SELECT', 'UPDATE'],
    );
  });

  it.each<[PolicyDraft, string[]]>([
    [{ kind: 'row_filter', resource: { ...table, column: 'x' } }, ['resource.column', 'expression']],
    [{ kind: 'column_mask', resource: table, privileges: ['SELECT'] }, ['resource.column', 'expression', 'privileges']],
    [{ kind: 'hidden_column', resource: table, expression: 'NULL' }, ['resource.column', 'expression']],
    [{ kind: 'deny', resource: { ...table, column: 'x' }, expression: 'true' }, ['resource.column', 'expression']],
    [{ kind: 'row_filter', resource: table, expression: 'true) OR (true' }, ['expression']],
    [{ kind: 'row_filter', resource: table, expression: 'hr.public.may_read(id)' }, ['expression']],
  ])('refuses %j', (draft, fields) => {
    expect(parsePolicyRule(draft)).toMatchObject(fields.map((field) => ({ field })));
  });
});
