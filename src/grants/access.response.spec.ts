import { aSnapshot } from '../../test/support/snapshots/snapshot-builder.js';
import { AccessIndex } from '../trino-rules/answers/access-index.js';
import { effectiveAccess } from '../trino-rules/answers/effective-access.js';
import { toEffectivePage } from './access.response.js';

describe('what a grant reaches somebody through', () => {
  it('is told apart: by name, by a group, as one of everyone', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'a')
      .user('ana')
      .may('SELECT', 'b')
      .everyone()
      .may('SELECT', 'c')
      .snapshot();

    const index = new AccessIndex(snapshot);
    const entries = effectiveAccess(index, { type: 'user', id: 1 });
    const named = entries.map((entry) => ({ ...entry, resource: index.principals.nodeWithName(entry.resource) }));
    const { items } = toEffectivePage(named, 10);

    expect(items.map(({ resource, origins }) => [resource.catalog, origins.map(({ through }) => through)])).toEqual([
      ['a', [{ group: { id: 1, name: 'readers' } }]],
      ['b', ['directly']],
      ['c', ['everyone']],
    ]);
  });
});
