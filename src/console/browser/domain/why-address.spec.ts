import {
  prepositionOf,
  questionFromAddress,
  requestText,
  restrictionText,
  stepSentence,
  whyAddress,
  whyAddressOfEntry,
} from './why-address.js';

const asked = (address: string) => questionFromAddress(new URLSearchParams(address.split('?')[1]));

describe('the question of Why', () => {
  it.each([
    [{ type: 'user', id: 4 }, 'SELECT', { catalog: 'sales', schema: 'eu', table: 'orders' }],
    [{ type: 'engine', name: 'airflow' }, 'EXECUTE_FUNCTION', { catalog: 'sales', schema: 'eu', routine: 'total' }],
    [{ type: 'group', id: 3 }, 'KILL_QUERIES', { engine: true }],
    [{ type: 'user', id: 4 }, 'VIEW_QUERIES', { queries: { type: 'engine', name: 'airflow' } }],
    [{ type: 'user', id: 4 }, 'IMPERSONATE', { as: { type: 'group', id: 3 } }],
  ])('comes back from its address: %j %s %j', (principal, privilege, node) => {
    expect(asked(whyAddress(principal, privilege, node))).toEqual({ principal, privilege, node });
  });

  it.each<[object, Parameters<typeof whyAddressOfEntry>[1]['privileges'], string]>([
    [
      { queries: { type: 'user', id: 7 } },
      ['KILL_QUERIES'],
      '/why?principal=user%3A4&privilege=KILL_QUERIES&queries=user%3A7',
    ],
    [{ queries: { type: 'group', id: 3 } }, ['KILL_QUERIES'], '/grants?state=all&grant=12'],
    [{ as: { type: 'everyone' } }, ['IMPERSONATE'], '/grants?state=all&grant=12'],
    [{ engine: true }, [], '/why?principal=user%3A4&privilege=EXECUTE_QUERIES&engine=true'],
  ])('is asked by an entry of access, where one can be: %j', (resource, privileges, address) => {
    expect(whyAddressOfEntry({ type: 'user', id: 4 }, { resource, privileges, origins: [{ grant_id: 12 }] })).toBe(
      address,
    );
  });

  it('is about SELECT on everything, of nobody yet', () => {
    expect(asked('/why?principal=x&privilege=DANCE')).toEqual({ principal: null, privilege: 'SELECT', node: {} });
  });

  it('is said in SQL', () => {
    const said = (['SELECT', 'INSERT', 'DELETE', 'UPDATE'] as const).map(prepositionOf);
    expect(said).toEqual(['from', 'into', 'from', 'on']);
  });

  const [schema, orders] = [
    { catalog: 'sales', schema: 'eu' },
    { catalog: 'sales', schema: 'eu', table: 'orders' },
  ];
  it.each<[string, Parameters<typeof restrictionText>[0], string]>([
    [
      'orders$files',
      [
        { policy_id: 3, kind: 'row_filter', resource: orders },
        { policy_id: 5, kind: 'column_mask', resource: { ...schema, column: 'email' } },
      ],
      'row filter 3 on sales.eu.orders, column mask 5 on sales.eu.email close companion tables, too',
    ],
    [
      'orders$files',
      [{ policy_id: 3, kind: 'deny', resource: orders }],
      'deny 3 on sales.eu.orders closes companion tables, too',
    ],
    [
      'orders$files',
      [
        { policy_id: 3, kind: 'row_filter', resource: orders },
        { policy_id: 4, kind: 'deny', resource: schema },
      ],
      'deny 4 on sales.eu takes it',
    ],
    ['orders', [{ policy_id: 3, kind: 'row_filter', resource: orders }], 'row filter 3 on sales.eu.orders takes it'],
  ])('of %s names what takes it: %j', (table, restrictions, text) => {
    expect(restrictionText(restrictions, { table })).toBe(text);
  });
});

describe('the nearest change', () => {
  const ana = { type: 'user', id: 4, name: 'ana' } as const;
  const bo = { type: 'user', id: 5, name: 'bo' } as const;
  const resource = { catalog: 'sales', schema: 'eu' };

  it.each<[Parameters<typeof stepSentence>[0], string]>([
    [{ kind: 'grant', principal: ana, resource, privileges: ['SELECT'] }, 'Grant SELECT on sales.eu to ana.'],
    [{ kind: 'revoke', grant_id: 12 }, 'Revoke grant 12.'],
    [{ kind: 'except', policy_id: 9, principal: ana }, 'Except ana from policy 9.'],
    [{ kind: 'deny', principal: ana, resource, privileges: ['SELECT'] }, 'Deny SELECT on sales.eu for ana.'],
    [
      { kind: 'hidden_column', principal: ana, resource: { ...resource, table: 'orders', column: 'email' } },
      'Hide column email of sales.eu.orders from ana.',
    ],
    [{ kind: 'activate', principal: bo }, 'Activate the account of bo.'],
  ])('is asked for in one sentence a step: %j', (step, sentence) => {
    expect(requestText([step, step], ana)).toBe(`Please, for ana: ${sentence} ${sentence}`);
  });

  it('calls the person who asks *you*, and nobody else', () => {
    const activate = (principal: typeof ana | typeof bo) => stepSentence({ kind: 'activate', principal }, ana);
    expect([activate(ana), activate(bo)]).toEqual([
      ['Activate the account of ', 'you', '.'],
      ['Activate the account of ', 'bo', '.'],
    ]);
  });
});
