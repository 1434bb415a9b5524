import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { revokedAccess } from './revoked-access.js';

describe('revoked access', () => {
  it('leaves out what another grant gives, and principals without a loss', () => {
    const previous = aSnapshot()
      .group('a', ['ana', 'bo'])
      .may('SELECT', 'sales')
      .group('b', ['ana'])
      .may('SELECT', 'sales');
    const snapshot = previous.snapshot();
    const next = {
      ...snapshot,
      groups: snapshot.groups.map((group) => ({ ...group, members: group.id === 1 ? [] : group.members })),
    };
    expect(revokedAccess(snapshot, next)).toEqual({
      nodes: [{ resource: { catalog: 'sales' }, names: ['bo'] }],
      routines: [],
      withoutAccess: ['bo'],
    });
  });

  it('is the node of a removed mask for those whom a wider mask of the same column still reaches', () => {
    const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales');
    const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
    const wider = (): ReturnType<typeof readers> => readers().user('ana').seesMasked('sales', 'ssn', 'NULL');
    const lost = (given: ReturnType<typeof readers>) => {
      const previous = given.group('masked', ['ana', 'bo']).seesMasked('sales.eu.orders', 'ssn', "'x'").snapshot();
      return revokedAccess(previous, { ...previous, policies: previous.policies.slice(0, -1) }).nodes;
    };

    expect(lost(wider())).toEqual([{ resource: orders, names: ['ana'] }]);
    expect(lost(readers().user('ana').seesMasked('sales', 'iban', 'NULL'))).toEqual([]);
    expect(lost(readers().user('ana').seesMasked('hr', 'ssn', 'NULL'))).toEqual([]);
    expect(lost(readers().user('ana').doesNotSee('sales', 'ssn'))).toEqual([]);
  });
});
