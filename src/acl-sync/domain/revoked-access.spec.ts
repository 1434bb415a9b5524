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
      withoutAccess: ['bo'],
    });
  });
});
