import { type ChangedAccess, changeText, groupByOutcome, permissionOf } from './access-change.js';

const changed = (what: string, people: string[], others = 0): ChangedAccess => ({ what, people, others });
const change = (lost: ChangedAccess[], losing: number, gained: ChangedAccess[] = [], gaining = 0) => ({
  ...{ lost, lost_in_all: lost.length, people_losing: losing },
  ...{ gained, gained_in_all: gained.length, people_gaining: gaining },
  ...{ changed_pairs: 1, all_pairs: 1 },
});

describe('a change of access', () => {
  it.each([
    ['SELECT from sales.eu.orders', 'SELECT', { catalog: 'sales', schema: 'eu', table: 'orders' }],
    ['INSERT into sales.eu.*', 'INSERT', { catalog: 'sales', schema: 'eu' }],
    ['UPDATE sales.eu.(any other table)', 'UPDATE', { catalog: 'sales', schema: 'eu' }],
    ['have OWNERSHIP of the schema sales.(any other schema)', 'OWNERSHIP', { catalog: 'sales' }],
    ['SELECT from (any other catalog).(any other schema).(any other table)', 'SELECT', {}],
  ])('is read from its text: %s', (what, privilege, node) => {
    expect(permissionOf(what)).toEqual({ privilege, node });
  });

  it.each(['kill queries', 'SELECT from a.b.c.d', 'SELECT from a.b.c, column d', 'not: may not SELECT', ''])(
    'is left as a text: %s',
    (what) => expect(permissionOf(what)).toBeNull(),
  );

  it('is a sentence', () => {
    const all = changed('SELECT from finance.public.(any other table)', ['ana', 'bo'], 59);
    expect(changeText(change([all], 61))).toBe('61 people lose SELECT on finance.public');
    expect(changeText(change([changed('kill queries', ['ana']), all], 61))).toBe(
      '61 people lose SELECT on finance.public and 1 more thing',
    );
    const one = changed('INSERT into sales.eu.orders', ['ana']);
    expect(changeText(change([all], 70, [one], 1))).toBe(
      '61 people lose SELECT on finance.public, 70 people in all; 1 person gains INSERT on sales.eu.orders',
    );
    expect(changeText(change([changed('execute queries', ['ana'])], 1))).toBe('1 person may no longer execute queries');
    expect(changeText(change([], 0, [changed('not: may not SELECT the column card of a.b.c', ['ana', 'bo'])], 2))).toBe(
      'for 2 people, no longer: may not SELECT the column card of a.b.c',
    );
    expect(changeText(change([], 0))).toBe('Nobody gains or loses anything');
  });
});

describe('outcomes', () => {
  const user = (id: number, name: string) => ({ type: 'user' as const, id, name });
  const gain = (principal: ReturnType<typeof user>, catalog: string, privilege: 'SELECT' | 'INSERT') => ({
    principal,
    resource: { catalog },
    privileges: [privilege],
    row_filters: [],
    masked_columns: [],
    hidden_columns: [],
  });

  it('name those together to whom all the same happens', () => {
    const [alice, bob, carol] = [user(1, 'alice'), user(2, 'bob'), user(3, 'carol')];
    const outcomes = groupByOutcome([
      gain(alice, 'sales', 'INSERT'),
      gain(bob, 'sales', 'SELECT'),
      gain(bob, 'hr', 'SELECT'),
      gain(carol, 'sales', 'SELECT'),
      gain(carol, 'hr', 'SELECT'),
    ]);

    expect(outcomes.map(({ people, differences }) => [people, differences.map(({ resource }) => resource)])).toEqual([
      [
        [bob, carol],
        [{ catalog: 'sales' }, { catalog: 'hr' }],
      ],
      [[alice], [{ catalog: 'sales' }]],
    ]);
  });
});
