import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { decide } from './decision.js';
import { intentAt } from './intent.js';
import type { Principal } from './principal.js';
import { PRIVILEGES } from './privilege.js';
import { STORAGE_COLUMNS } from './restrictions.js';
import { catalogMode } from './rights.js';
import type { Snapshot } from './snapshot.js';

const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
const user = (snapshot: Snapshot, name: string): Principal => {
  const found = snapshot.users.find((row) => row.name === name);
  return { type: 'user', id: found?.id ?? 0 };
};
const may = (snapshot: Snapshot, name: string, node: { catalog: string; schema?: string; table?: string } = orders) =>
  intentAt(snapshot, user(snapshot, name), node).privileges;
const seen = (snapshot: Snapshot, name: string) => {
  const {
    filters,
    hiddenColumns: hidden,
    masks,
    conflictColumns: conflicts,
  } = intentAt(snapshot, user(snapshot, name), orders);
  return { filters, hidden, masks: masks.map(({ column, expression }) => `${column}: ${expression}`), conflicts };
};
const afterwards = (millis: number) => new Date(NOW.getTime() + millis);

describe('what people may', () => {
  it('is nothing by default', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').user('bo').snapshot();

    expect(may(snapshot, 'bo')).toEqual([]);
    expect(may(snapshot, 'ana', { ...orders, table: 'customers' })).toEqual([]);
  });

  it('adds up over the person, the groups, and the nodes above', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'sales')
      .group('writers', ['ana'])
      .may('INSERT', 'sales.eu')
      .user('ana')
      .may('DELETE', 'sales.eu.orders')
      .snapshot();

    expect(may(snapshot, 'ana')).toEqual(['SELECT', 'INSERT', 'DELETE']);
    expect(may(snapshot, 'ana', { catalog: 'sales', schema: 'eu' })).toEqual(['SELECT', 'INSERT']);
  });

  it('ends at the very instant a grant expires', () => {
    const until = (expiresAt: Date) => aSnapshot().user('ana').may('SELECT', 'sales', { expiresAt }).snapshot();

    expect(may(until(afterwards(1)), 'ana')).toEqual(['SELECT']);
    expect(may(until(NOW), 'ana')).toEqual([]);
  });

  it('ends with a revocation and with deactivation', () => {
    const revoked = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales', { revokedAt: afterwards(-1) })
      .snapshot();
    const deactivated = aSnapshot().user('ana').may('SELECT', 'sales').deactivated('ana').snapshot();

    expect(may(revoked, 'ana')).toEqual([]);
    expect(may(deactivated, 'ana')).toEqual([]);
  });

  it('is less a deny anywhere above, except for those it leaves alone', () => {
    const snapshot = aSnapshot()
      .group('staff', ['ana', 'bo'])
      .may('SELECT, INSERT', 'sales.eu.orders')
      .everyone()
      .mayNot('sales', 'INSERT', { type: 'user', id: 2 })
      .snapshot();

    expect(may(snapshot, 'ana')).toEqual(['SELECT']);
    expect(may(snapshot, 'bo')).toEqual(['SELECT', 'INSERT']);
  });

  it('is not the ownership of what is restricted there or above, nor of a schema with a restricted table', () => {
    const owner = () => aSnapshot().user('ana').may('SELECT, OWNERSHIP', 'sales');
    const eu = { catalog: 'sales', schema: 'eu' };
    const on = (snapshot: Snapshot) => [{ catalog: 'sales' }, eu, orders].map((node) => may(snapshot, 'ana', node));
    const [whole, tables, none] = [['SELECT', 'OWNERSHIP'], ['SELECT', 'TABLE_OWNERSHIP'], ['SELECT']];

    expect(on(owner().snapshot())).toEqual([whole, whole, whole]);
    expect(on(owner().seesOnly('sales.eu.orders', 'true').snapshot())).toEqual([whole, tables, none]);
    expect(on(owner().seesMasked('sales.eu.orders', 'card', 'NULL').snapshot())).toEqual([whole, tables, none]);
    expect(on(owner().doesNotSee('sales.eu', 'card').snapshot())).toEqual([whole, none, none]);
    expect(on(owner().mayNot('sales', 'INSERT').snapshot())).toEqual([none, none, none]);
    expect(on(owner().everyone().mayNot('sales.eu.items').snapshot())).toEqual([whole, tables, whole]);
    const spared = owner().everyone().seesOnly('sales.eu.orders', 'true', { type: 'user', id: 1 });
    expect(on(spared.snapshot())).toEqual([whole, whole, whole]);
  });

  it('contains SELECT in GRANT_SELECT, and a deny of SELECT takes both', () => {
    const holder = aSnapshot().user('ana').may('GRANT_SELECT', 'sales');

    expect(may(holder.snapshot(), 'ana')).toEqual(['SELECT', 'GRANT_SELECT']);
    expect(may(holder.mayNot('sales.eu', 'SELECT').snapshot(), 'ana')).toEqual([]);
  });

  it('leaves SELECT where only GRANT_SELECT is denied', () => {
    const snapshot = aSnapshot().user('ana').may('GRANT_SELECT', 'sales').mayNot('sales.eu', 'GRANT_SELECT').snapshot();

    expect(may(snapshot, 'ana')).toEqual(['SELECT']);
  });

  it('has its origin', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'sales')
      .mayNot('sales.eu', 'SELECT')
      .snapshot();

    const decision = decide(snapshot, user(snapshot, 'ana'), {
      about: 'privilege',
      resource: orders,
      privilege: 'SELECT',
    });

    expect(decision.allowed).toBe(false);
    expect(decision.grants).toMatchObject([
      { source: { id: 1 }, through: { group: { name: 'readers' } }, inheritedFrom: { catalog: 'sales' } },
    ]);
    expect(decision.denies).toMatchObject([{ source: { id: 1 }, inheritedFrom: { catalog: 'sales', schema: 'eu' } }]);
  });

  it('for a group is that of a member of no other group', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'sales')
      .user('ana')
      .may('INSERT', 'sales')
      .snapshot();

    expect(intentAt(snapshot, { type: 'group', id: 1 }, orders).privileges).toEqual(['SELECT']);
  });
});

describe('what people see', () => {
  const ana = () => aSnapshot().user('ana').may('SELECT', 'sales');

  it('passes every row filter that applies, each in parentheses, in one order', () => {
    const builder = ana()
      .seesOnly('sales.eu', 'b = 1 OR c')
      .everyone()
      .seesOnly('sales', 'a = 1')
      .seesOnly('sales.eu', 'a = 1');

    expect(seen(builder.snapshot(), 'ana').filters).toEqual(['a = 1', 'b = 1 OR c']);
  });

  it('takes the mask of the nearest node', () => {
    const snapshot = ana().seesMasked('sales', 'ssn', 'wide').seesMasked('sales.eu', 'ssn', 'near').snapshot();

    expect(seen(snapshot, 'ana').masks).toEqual(['ssn: near']);
  });

  it('takes the next wider mask where an exception switches the nearest off', () => {
    const builder = ana().everyone().seesMasked('sales', 'ssn', 'wide');
    builder.seesMasked('sales.eu', 'ssn', 'near', { type: 'user', id: 1 });

    expect(seen(builder.snapshot(), 'ana').masks).toEqual(['ssn: wide']);
  });

  it('hides a column with two masks at one distance, and reports the conflict', () => {
    const snapshot = ana().seesMasked('sales', 'ssn', 'a').everyone().seesMasked('sales', 'ssn', 'b').snapshot();

    expect(seen(snapshot, 'ana')).toEqual({
      filters: [],
      hidden: [...STORAGE_COLUMNS, 'ssn'],
      masks: [],
      conflicts: ['ssn'],
    });
  });

  it('takes two masks of one text for one, and a nearer mask for the end of a conflict', () => {
    const same = ana().seesMasked('sales', 'ssn', 'a').everyone().seesMasked('sales', 'ssn', 'a');
    const nearer = ana()
      .seesMasked('sales', 'ssn', 'a')
      .seesMasked('sales', 'ssn', 'b')
      .seesMasked('sales.eu', 'ssn', 'c');

    expect(seen(same.snapshot(), 'ana').masks).toEqual(['ssn: a']);
    expect(seen(nearer.snapshot(), 'ana')).toMatchObject({ hidden: STORAGE_COLUMNS, masks: ['ssn: c'] });
  });

  it('adds up hidden columns, which beat masks', () => {
    const snapshot = ana()
      .doesNotSee('sales', 'ssn')
      .doesNotSee('sales.eu', 'iban')
      .seesMasked('sales.eu.orders', 'ssn', 'x')
      .snapshot();

    expect(seen(snapshot, 'ana')).toMatchObject({ hidden: [...STORAGE_COLUMNS, 'iban', 'ssn'], masks: [] });
  });

  it('has no filters or columns where there is no privilege', () => {
    const snapshot = aSnapshot()
      .everyone()
      .seesOnly('sales', 'a')
      .seesMasked('sales', 'b', 'c')
      .doesNotSee('sales', 'd')
      .user('ana')
      .snapshot();

    expect(seen(snapshot, 'ana')).toEqual({ filters: [], hidden: [], masks: [], conflicts: [] });
  });
});

describe('closed catalogs', () => {
  it('include the metadata catalog, whatever is granted', () => {
    const catalog = 'grantline';
    const snapshot = aSnapshot()
      .user('ana')
      .may(PRIVILEGES.join(','), catalog)
      .with({ writableCatalogs: [catalog] })
      .snapshot();

    for (const principal of [user(snapshot, 'ana'), { type: 'engine', name: 'service-account-grantline' } as const]) {
      expect(intentAt(snapshot, principal, { catalog, schema: 'runtime', table: 'queries' }).privileges).toEqual([]);
    }
  });

  it('include all of system but what the engine filters per user, for users with access', () => {
    const snapshot = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales')
      .user('bo')
      .may('SELECT', 'sales')
      .mayNot('sales')
      .snapshot();
    const jdbc = { catalog: 'system', schema: 'jdbc', table: 'tables' };

    expect([may(snapshot, 'ana', jdbc), may(snapshot, 'bo', jdbc)]).toEqual([['SELECT'], []]);
    expect(may(snapshot, 'ana', { catalog: 'system', schema: 'runtime' })).toEqual([]);
    expect([
      catalogMode(snapshot, user(snapshot, 'ana'), 'system'),
      catalogMode(snapshot, user(snapshot, 'bo'), 'system'),
    ]).toEqual(['read-only', 'none']);
  });
});
