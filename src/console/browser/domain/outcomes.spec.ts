import { groupByOutcome } from './outcomes.js';

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
