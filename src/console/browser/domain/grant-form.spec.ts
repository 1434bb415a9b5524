import {
  addressOfGrantForm,
  newGrantAddress,
  grantFormFromAddress,
  type GrantForm,
  grantOfForm,
  missingFieldTexts,
  EMPTY_NODE_FORM,
  nodeOfForm,
  offeredNode,
  nodeFormOf,
} from './grant-form.js';

const form = (address: string): GrantForm => grantFormFromAddress(new URLSearchParams(address));
const EVERY_FIELD =
  'principal=user:4&catalog=sales&schema=eu&table=orders&expires=2027-01-31&description=for+the+audit&privilege=SELECT&privilege=INSERT&revoke=12&revoke=13';

describe('the form of a grant', () => {
  it.each([EVERY_FIELD, 'on=engine&privilege=KILL_QUERIES', 'on=acting&as=group:3', ''])(
    'comes back from the address that it makes: %s',
    (address) => {
      const first = form(address);
      expect(grantFormFromAddress(addressOfGrantForm(first))).toEqual(first);
      expect(addressOfGrantForm(first).size).toBe(new URLSearchParams(address).size);
    },
  );

  it.each([
    ['data', 'catalog=sales&schema=eu&table=orders'],
    ['routine', 'on=routine&catalog=sales&schema=eu&routine=total'],
    ['engine', 'on=engine'],
    ['queries', 'on=queries&queries=user%3A7'],
    ['acting', 'on=acting&as=group%3A3'],
  ] as const)('keeps the kind of node %s, whatever was typed for the others', (place, address) => {
    const typed = form('catalog=sales&schema=eu&table=orders&routine=total&as=group:3&queries=user:7');
    expect(addressOfGrantForm({ ...typed, nodeKind: place }).toString()).toBe(address);
    expect(form(address).nodeKind).toBe(place);
  });

  it.each([
    [{ engine: true }, ['VIEW_QUERIES']],
    [{ queries: { type: 'user', id: 7 } }, ['VIEW_QUERIES', 'KILL_QUERIES']],
    [{ as: { type: 'group', id: 3 } }, ['IMPERSONATE']],
    [{ catalog: 'sales', schema: 'eu', routine: 'total' }, ['EXECUTE_FUNCTION']],
    [{ catalog: 'sales' }, ['SELECT']],
  ] as const)('begins with a grant on %j', (resource, privileges) => {
    const principal = { type: 'engine', name: 'airflow' };
    const begun = form(newGrantAddress(principal, privileges, resource).split('?')[1] ?? '');
    expect(grantOfForm(begun, null)).toEqual({ principal, resource, privileges });
  });

  it.each([
    ['', ['principal', 'privileges']],
    ['principal=user:4&catalog=sales', ['privileges']],
    ['principal=user:4&on=engine&privilege=SELECT', ['privileges']],
    ['principal=user:4&on=routine', ['privileges']],
    ['principal=user:4&on=routine&privilege=EXECUTE_FUNCTION', []],
    ['principal=user:4&on=queries&privilege=VIEW_QUERIES', ['resource']],
    ['principal=engine:bi&on=acting&privilege=IMPERSONATE', ['resource']],
    ['principal=engine:bi&on=acting&as=user:3&privilege=IMPERSONATE', []],
    [EVERY_FIELD, []],
  ])('says what is missing: %s', (address, fields) => {
    expect(Object.keys(missingFieldTexts(form(address)))).toEqual(fields);
    expect(grantOfForm(form(address), null) === null).toBe(fields.length > 0);
  });

  it('leaves out what no form can hold', () => {
    expect(form('principal=nobody:1&on=moon&privilege=DANCE&revoke=x')).toEqual(form(''));
  });

  it('means a grant, by ids alone', () => {
    expect(grantOfForm(form(EVERY_FIELD), new Date('2027-01-31T23:59:59.999Z'))).toEqual({
      principal: { type: 'user', id: 4 },
      resource: { catalog: 'sales', schema: 'eu', table: 'orders' },
      privileges: ['SELECT', 'INSERT'],
      expires_at: '2027-01-31T23:59:59.999Z',
      description: 'for the audit',
    });
  });

  it('means none without a holder, a privilege that its node has, or whom to act as', () => {
    const noHolder = form('catalog=sales&privilege=SELECT');
    const notOfTheEngine = form('principal=user:4&on=engine&privilege=SELECT');
    const actingAsNobody = form('principal=user:4&on=acting&privilege=IMPERSONATE');
    for (const each of [noHolder, notOfTheEngine, actingAsNobody]) expect(grantOfForm(each, null)).toBeNull();
  });
});

describe('the fields of a node', () => {
  it.each([
    {},
    { catalog: 'sales' },
    { catalog: 'sales', schema: 'eu', table: 'orders' },
    { catalog: 'sales', schema: 'eu', routine: 'total' },
    { engine: true as const },
    { as: { type: 'group' as const, id: 3 } },
  ])('hold %j', (node) => {
    expect(nodeOfForm(nodeFormOf(node))).toEqual(node);
  });

  it('name nothing below what is empty', () => {
    expect(nodeOfForm({ ...EMPTY_NODE_FORM, schema: 'eu', table: 'orders' })).toEqual({});
    expect(
      nodeOfForm({ ...EMPTY_NODE_FORM, nodeKind: 'routine', catalog: 'sales', schema: 'eu', table: 'orders' }),
    ).toEqual({
      catalog: 'sales',
      schema: 'eu',
    });
  });

  it('offer what a whole node has, before it is whole', () => {
    expect(nodeOfForm({ ...EMPTY_NODE_FORM, nodeKind: 'acting' })).toBeNull();
    expect(offeredNode({ ...EMPTY_NODE_FORM, nodeKind: 'acting' })).toEqual({ as: { type: 'everyone' } });
    expect(offeredNode({ ...EMPTY_NODE_FORM, nodeKind: 'routine' })).toHaveProperty('routine');
  });
});
