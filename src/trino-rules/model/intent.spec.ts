import { aWorld, NOW } from '../../../test/support/a-world.js';
import { catalogMode, decide, intentAt, mayImpersonate, reachesSomething } from './intent.js';
import type { Principal } from './principal.js';
import { PRIVILEGES, type Privilege } from './privilege.js';
import type { Snapshot } from './snapshot.js';

const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
const user = (snapshot: Snapshot, name: string): Principal => {
  const found = snapshot.users.find((row) => row.name === name);
  return { type: 'user', id: found?.id ?? 0 };
};
const may = (snapshot: Snapshot, name: string, node: { catalog: string; schema?: string; table?: string } = orders) =>
  intentAt(snapshot, user(snapshot, name), node).privileges;
const seen = (snapshot: Snapshot, name: string) => {
  const { filters, hidden, masks, conflicts } = intentAt(snapshot, user(snapshot, name), orders);
  return { filters, hidden, masks: masks.map(({ column, expression }) => `${column}: ${expression}`), conflicts };
};
const afterwards = (millis: number) => new Date(NOW.getTime() + millis);

describe('what people may', () => {
  it('is nothing by default', () => {
    const world = aWorld().person('ana').may('SELECT', 'sales.eu.orders').person('bo').snapshot();

    expect(may(world, 'bo')).toEqual([]);
    expect(may(world, 'ana', { ...orders, table: 'customers' })).toEqual([]);
  });

  it('adds up over the person, the groups, and the nodes above', () => {
    const world = aWorld()
      .group('readers', ['ana'])
      .may('SELECT', 'sales')
      .group('writers', ['ana'])
      .may('INSERT', 'sales.eu')
      .person('ana')
      .may('DELETE', 'sales.eu.orders')
      .snapshot();

    expect(may(world, 'ana')).toEqual(['SELECT', 'INSERT', 'DELETE']);
    expect(may(world, 'ana', { catalog: 'sales', schema: 'eu' })).toEqual(['SELECT', 'INSERT']);
  });

  it('ends at the very instant a grant expires', () => {
    const until = (expiresAt: Date) => aWorld().person('ana').may('SELECT', 'sales', { expiresAt }).snapshot();

    expect(may(until(afterwards(1)), 'ana')).toEqual(['SELECT']);
    expect(may(until(NOW), 'ana')).toEqual([]);
  });

  it('ends with a revocation and with deactivation', () => {
    const revoked = aWorld()
      .person('ana')
      .may('SELECT', 'sales', { revokedAt: afterwards(-1) })
      .snapshot();
    const deactivated = aWorld().person('ana').may('SELECT', 'sales').deactivated('ana').snapshot();

    expect(may(revoked, 'ana')).toEqual([]);
    expect(may(deactivated, 'ana')).toEqual([]);
  });

  it('is less a deny anywhere above, except for those it leaves alone', () => {
    const world = aWorld()
      .group('staff', ['ana', 'bo'])
      .may('SELECT, INSERT', 'sales.eu.orders')
      .everyone()
      .mayNot('sales', 'INSERT', { type: 'user', id: 2 })
      .snapshot();

    expect(may(world, 'ana')).toEqual(['SELECT']);
    expect(may(world, 'bo')).toEqual(['SELECT', 'INSERT']);
  });

  it('contains SELECT in GRANT_SELECT, and a deny of SELECT takes both', () => {
    const holder = aWorld().person('ana').may('GRANT_SELECT', 'sales');

    expect(may(holder.snapshot(), 'ana')).toEqual(['SELECT', 'GRANT_SELECT']);
    expect(may(holder.mayNot('sales.eu', 'SELECT').snapshot(), 'ana')).toEqual([]);
  });

  it('leaves SELECT where only GRANT_SELECT is denied', () => {
    const world = aWorld().person('ana').may('GRANT_SELECT', 'sales').mayNot('sales.eu', 'GRANT_SELECT').snapshot();

    expect(may(world, 'ana')).toEqual(['SELECT']);
  });

  it('is told with where it comes from', () => {
    const world = aWorld().group('readers', ['ana']).may('SELECT', 'sales').mayNot('sales.eu', 'SELECT').snapshot();

    const decision = decide(world, user(world, 'ana'), orders, 'SELECT');

    expect(decision.allowed).toBe(false);
    expect(decision.grants).toMatchObject([
      { source: { id: 1 }, through: { group: { name: 'readers' } }, inheritedFrom: { catalog: 'sales' } },
    ]);
    expect(decision.denies).toMatchObject([{ source: { id: 1 }, inheritedFrom: { catalog: 'sales', schema: 'eu' } }]);
  });

  it('can be asked of a group, as of a member who is in no other', () => {
    const world = aWorld()
      .group('readers', ['ana'])
      .may('SELECT', 'sales')
      .person('ana')
      .may('INSERT', 'sales')
      .snapshot();

    expect(intentAt(world, { type: 'group', id: 1 }, orders).privileges).toEqual(['SELECT']);
  });
});

describe('what people see', () => {
  const ana = () => aWorld().person('ana').may('SELECT', 'sales');

  it('passes every row filter that applies, each in parentheses, in one order', () => {
    const world = ana()
      .seesOnly('sales.eu', 'b = 1 OR c')
      .everyone()
      .seesOnly('sales', 'a = 1')
      .seesOnly('sales.eu', 'a = 1');

    expect(seen(world.snapshot(), 'ana').filters).toEqual(['a = 1', 'b = 1 OR c']);
  });

  it('takes the mask of the nearest node', () => {
    const world = ana().seesMasked('sales', 'ssn', 'wide').seesMasked('sales.eu', 'ssn', 'near').snapshot();

    expect(seen(world, 'ana').masks).toEqual(['ssn: near']);
  });

  it('takes the next wider mask where an exception switches the nearest off', () => {
    const world = ana().everyone().seesMasked('sales', 'ssn', 'wide');
    world.seesMasked('sales.eu', 'ssn', 'near', { type: 'user', id: 1 });

    expect(seen(world.snapshot(), 'ana').masks).toEqual(['ssn: wide']);
  });

  it('hides a column that two masks at one distance claim, and says so', () => {
    const world = ana().seesMasked('sales', 'ssn', 'a').everyone().seesMasked('sales', 'ssn', 'b').snapshot();

    expect(seen(world, 'ana')).toEqual({ filters: [], hidden: ['ssn'], masks: [], conflicts: ['ssn'] });
  });

  it('takes two masks of one text for one, and a nearer mask for the end of a conflict', () => {
    const same = ana().seesMasked('sales', 'ssn', 'a').everyone().seesMasked('sales', 'ssn', 'a');
    const nearer = ana()
      .seesMasked('sales', 'ssn', 'a')
      .seesMasked('sales', 'ssn', 'b')
      .seesMasked('sales.eu', 'ssn', 'c');

    expect(seen(same.snapshot(), 'ana').masks).toEqual(['ssn: a']);
    expect(seen(nearer.snapshot(), 'ana')).toMatchObject({ hidden: [], masks: ['ssn: c'] });
  });

  it('adds up hidden columns, which beat masks', () => {
    const world = ana()
      .doesNotSee('sales', 'ssn')
      .doesNotSee('sales.eu', 'iban')
      .seesMasked('sales.eu.orders', 'ssn', 'x')
      .snapshot();

    expect(seen(world, 'ana')).toMatchObject({ hidden: ['iban', 'ssn'], masks: [] });
  });

  it('says nothing of filters and columns to those who may do nothing', () => {
    const world = aWorld()
      .everyone()
      .seesOnly('sales', 'a')
      .seesMasked('sales', 'b', 'c')
      .doesNotSee('sales', 'd')
      .person('ana')
      .snapshot();

    expect(seen(world, 'ana')).toEqual({ filters: [], hidden: [], masks: [], conflicts: [] });
  });
});

describe('what belongs to nobody', () => {
  it.each(['grantline', 'system'])('is the catalog %s, whatever the grants say', (catalog) => {
    const world = aWorld()
      .person('ana')
      .may(PRIVILEGES.join(','), catalog)
      .with({ writableCatalogs: [catalog] })
      .snapshot();

    for (const principal of [user(world, 'ana'), { type: 'engine', name: 'service-account-grantline' } as const]) {
      expect(intentAt(world, principal, { catalog, schema: 'runtime', table: 'queries' }).privileges).toEqual([]);
    }
  });

  it('is all of system but what the engine filters per person, for those who reach something', () => {
    const world = aWorld()
      .person('ana')
      .may('SELECT', 'sales')
      .person('bo')
      .may('SELECT', 'sales')
      .mayNot('sales')
      .snapshot();
    const jdbc = { catalog: 'system', schema: 'jdbc', table: 'tables' };

    expect([may(world, 'ana', jdbc), may(world, 'bo', jdbc)]).toEqual([['SELECT'], []]);
    expect(may(world, 'ana', { catalog: 'system', schema: 'runtime' })).toEqual([]);
    expect([catalogMode(world, user(world, 'ana'), 'system'), catalogMode(world, user(world, 'bo'), 'system')]).toEqual(
      ['read-only', 'none'],
    );
  });
});

describe('service accounts', () => {
  const account = { type: 'engine', name: 'service-account-grantline' } as const;
  const world = aWorld().everyone().mayNot('lake').seesOnly('tpch', 'false').snapshot();

  it('follow the settings alone, untouched by policy', () => {
    expect(intentAt(world, account, { catalog: 'lake', schema: 'new' })).toMatchObject({
      privileges: [...PRIVILEGES],
      filters: [],
    });
    expect(intentAt(world, account, { catalog: 'tpch' })).toMatchObject({ privileges: ['SELECT'], filters: [] });
    expect(intentAt(world, account, { catalog: 'sales' }).privileges).toEqual([]);
    expect(reachesSomething(world, account)).toBe(true);
  });

  it('become nobody, but for our own, which becomes the active people who reach something', () => {
    const people = aWorld()
      .person('ana')
      .may('SELECT', 'sales')
      .person('bo')
      .person('x$y')
      .may('SELECT', 'sales')
      .with({ serviceAccounts: ['service-account-grantline', 'etl'] });
    const became = (account: string, { users, ...rest } = people.snapshot()) =>
      users.filter((person) => mayImpersonate({ users, ...rest }, account, person)).map(({ name }) => name);

    expect(became('service-account-grantline')).toEqual(['ana']);
    expect(became('etl')).toEqual([]);
    expect(became('service-account-grantline', people.with({ impersonation: false }).snapshot())).toEqual([]);
  });
});

describe('the mode of a catalog', () => {
  const modeWith = (privilege: Privilege, path: string) => {
    const world = aWorld().person('ana').may(privilege, path).snapshot();
    return catalogMode(world, user(world, 'ana'), 'sales');
  };

  it('is read-only for readers, all for everything else, none for everybody else', () => {
    expect([
      modeWith('SELECT', 'sales.eu.orders'),
      modeWith('GRANT_SELECT', 'sales.eu.orders'),
      modeWith('SELECT', 'other'),
    ]).toEqual(['read-only', 'all', 'none']);
  });
});
