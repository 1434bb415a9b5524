import { differencesOf } from './grant-form.js';
import {
  addressOfPolicy,
  formOfPolicy,
  missingFieldTexts,
  NEW_POLICY,
  type Policy,
  POLICY_FIELDS,
  policyFormFromAddress,
  policyOfForm,
} from './policy-form.js';

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
    [{ ...NEW_POLICY, kind: 'deny', nodeKind: 'acting', principal: { type: 'everyone' } } as const, ['resource']],
  ])('lacks fields', (form, fields) => {
    expect(Object.keys(missingFieldTexts(form))).toEqual(fields);
    expect(policyOfForm(form)).toBeNull();
  });

  it('comes back from the address that it makes, with the names that are known', () => {
    const [saved, draft] = [formOfPolicy(policy({})), formOfPolicy(policy({ expression: "a LIKE '%ab%'" }))];
    expect(policyFormFromAddress(addressOfPolicy(draft, saved), saved)).toEqual(draft);
    expect(policyFormFromAddress(addressOfPolicy(draft)).principal).toEqual({ type: 'group', id: 3 });
    expect(policyFormFromAddress(new URLSearchParams('ask=delete'), saved)).toBe(saved);
    expect(addressOfPolicy(saved, saved).size).toBe(0);
  });

  it('is about data in its address, unless it is a deny, whatever a deny was about before', () => {
    const form = { ...formOfPolicy(policy({})), place: 'acting', as: { type: 'group', id: 3 } } as const;
    const back = policyFormFromAddress(addressOfPolicy(form));
    expect(policyOfForm(back)).toEqual(policyOfForm(form));
    expect(back.nodeKind).toBe('data');
  });

  it('has one exception more by an address that names it', () => {
    const saved = formOfPolicy(policy({}));
    const { except } = policyFormFromAddress(new URLSearchParams('excepting=user:5'), saved);
    expect(except).toEqual([...saved.except, { type: 'user', id: 5 }]);
  });

  it('differs from another in words', () => {
    const [one, other] = [formOfPolicy(policy({})), formOfPolicy(policy({ except: [], expression: 'NULL' }))];
    expect(differencesOf(POLICY_FIELDS, one, other)).toEqual([
      { field: 'Except', theirText: 'ana', myText: '' },
      { field: 'Expression', theirText: "'***'", myText: 'NULL' },
    ]);
    expect(differencesOf(POLICY_FIELDS, one, one)).toEqual([]);
  });
});
