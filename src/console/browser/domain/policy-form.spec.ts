import { differencesOf, formOfPolicy, missingIn, NEW_POLICY, type Policy, policyOfForm } from './policy-form.js';

const policy = (part: object): Policy =>
  ({
    id: 7,
    kind: 'column_mask',
    principal: { type: 'group', id: 3, name: 'analysts' },
    except: [{ type: 'user', id: 4, name: 'ana' }],
    resource: { catalog: 'sales', schema: 'eu', table: 'orders', column: 'email' },
    expression: "'***'",
    description: null,
    ...part,
  }) as Policy;

describe('the form of a policy', () => {
  it.each([
    ['a mask', policy({})],
    ['a filter', policy({ kind: 'row_filter', resource: { catalog: 'sales' }, expression: 'true' })],
    ['a deny of the engine', policy({ kind: 'deny', resource: { engine: true }, privileges: ['KILL_QUERIES'] })],
  ])('holds all of %s, and gives it back by ids alone', (_, { kind, resource, expression, privileges, ...rest }) => {
    const form = formOfPolicy({ kind, resource, expression, privileges, ...rest } as Policy);
    expect(policyOfForm(form)).toEqual({
      kind,
      principal: { type: 'group', id: 3 },
      except: [{ type: 'user', id: 4 }],
      resource,
      ...(kind === 'deny' ? { privileges } : { expression }),
      description: null,
    });
  });

  it.each([
    [NEW_POLICY, ['principal', 'expression']],
    [{ ...NEW_POLICY, kind: 'column_mask', expression: ' ' } as const, ['principal', 'column', 'expression']],
    [{ ...NEW_POLICY, kind: 'hidden_column', principal: { type: 'everyone' } } as const, ['column']],
    [{ ...NEW_POLICY, kind: 'deny', place: 'acting', principal: { type: 'everyone' } } as const, ['resource']],
  ])('lacks fields', (form, fields) => {
    expect(Object.keys(missingIn(form))).toEqual(fields);
    expect(policyOfForm(form)).toBeNull();
  });

  it('differs from another in words', () => {
    const [one, other] = [formOfPolicy(policy({})), formOfPolicy(policy({ except: [], expression: 'NULL' }))];
    expect(differencesOf(one, other)).toEqual([
      { field: 'Except', one: 'ana', other: '' },
      { field: 'Expression', one: "'***'", other: 'NULL' },
    ]);
    expect(differencesOf(one, one)).toEqual([]);
  });
});
