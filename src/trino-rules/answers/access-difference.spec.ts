import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import type { Snapshot, SnapshotGrant } from '../model/snapshot.js';
import { accessDifferences, grantsOfDraft } from './access-difference.js';
import { type Draft, affectedNodes, withDraft } from './draft.js';

const NOTHING: Draft = {
  grants: [],
  revokedGrantIds: [],
  policies: [],
  deletedPolicyIds: [],
  addedMembers: [],
  removedMembers: [],
};
const differences = (before: Snapshot, draft: Draft) =>
  [...accessDifferences(before, withDraft(before, draft), affectedNodes(before, draft))].flatMap(
    (outcome) => outcome?.differences ?? [],
  );

describe('what a draft changes', () => {
  it('says once what holds for everything below', () => {
    const before = aSnapshot().user('ana').may('INSERT', 'sales.eu.orders').may('SELECT', 'sales.us.orders').snapshot();
    const grant: SnapshotGrant = {
      id: 9,
      principal: { type: 'user', id: 1 },
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
      expiresAt: null,
      revokedAt: null,
    };

    const changed = differences(before, { ...NOTHING, grants: [grant] });

    expect(changed.map(({ resource, gained, lost }) => [resource, gained?.privileges, lost])).toEqual([
      [{ catalog: 'sales' }, ['SELECT'], null],
    ]);
  });

  it('finds what an engine principal gets as one of everyone by its first group', () => {
    const before = aSnapshot().group('bots', []).may('INSERT', 'lake').everyone().may('SELECT', 'sales').snapshot();
    const addedMembers = [{ group: 1, member: { type: 'engine', name: 'etl' } as const }];

    const changed = differences(before, { ...NOTHING, addedMembers });

    expect(changed.map(({ resource, gained }) => [resource, gained?.privileges])).toEqual([
      [{ catalog: 'lake' }, ['INSERT']],
      [{ catalog: 'sales' }, ['SELECT']],
    ]);
  });

  it('finds all that an engine principal gets as one of everyone by its first grant', () => {
    const before = aSnapshot().user('ana').everyone().may('SELECT', 'sales').snapshot();
    const first = aSnapshot()
      .engine('etl')
      .may('INSERT', 'lake.raw')
      .snapshot()
      .grants.map((each) => ({ ...each, id: 9 }));

    const changed = differences(before, { ...NOTHING, grants: first });

    expect(changed.map(({ principal, resource, gained }) => [principal.name, resource, gained?.privileges])).toEqual([
      ['etl', { catalog: 'lake', schema: 'raw' }, ['INSERT']],
      ['etl', { catalog: 'sales' }, ['SELECT']],
    ]);
  });

  it('finds what a deny leaves to an engine principal that joins the spared group, which it also acts as', () => {
    const before = aSnapshot()
      .group('viewers', ['ana'])
      .engine('dashboard')
      .may('IMPERSONATE', { as: { type: 'group', id: 1 } })
      .may('SELECT', 'sales')
      .everyone()
      .mayNot('sales.eu', 'SELECT', { type: 'group', id: 1 })
      .snapshot();
    const moved = [{ group: 1, member: { type: 'engine', name: 'dashboard' } as const }];
    const joined = withDraft(before, { ...NOTHING, addedMembers: moved });

    const [gained, lost] = [
      differences(before, { ...NOTHING, addedMembers: moved }),
      differences(joined, { ...NOTHING, removedMembers: moved }),
    ];

    const eu = { principal: { type: 'engine', name: 'dashboard' }, resource: { catalog: 'sales', schema: 'eu' } };
    expect(gained).toMatchObject([{ ...eu, gained: { privileges: ['SELECT'] }, lost: null }]);
    expect(lost).toMatchObject([{ ...eu, gained: null, lost: { privileges: ['SELECT'] } }]);
  });

  it('counts a dropped filter as gained and a new mask as lost', () => {
    const before = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales')
      .everyone()
      .seesOnly('sales.eu', "region = 'EU'")
      .snapshot();
    const mask = {
      id: 9,
      kind: 'column_mask' as const,
      principal: { type: 'everyone' as const },
      except: [],
      resource: { catalog: 'sales', schema: 'eu', column: 'ssn' },
      expression: 'NULL',
    };

    const [changed, ...others] = differences(before, { ...NOTHING, policies: [mask], deletedPolicyIds: [1] });

    expect(others).toEqual([]);
    expect(changed).toMatchObject({
      principal: { name: 'ana' },
      resource: { catalog: 'sales', schema: 'eu' },
      gained: { privileges: [], filters: ["region = 'EU'"] },
      lost: { privileges: [], masks: [{ column: 'ssn', expression: 'NULL' }] },
    });
  });

  it('counts a filter as lost access where a group that it spares is left', () => {
    const before = aSnapshot()
      .group('auditors', ['ana'])
      .user('ana')
      .may('SELECT', 'sales')
      .everyone()
      .seesOnly('sales.eu', "region = 'EU'", { type: 'group', id: 1 })
      .snapshot();

    const changed = differences(before, {
      ...NOTHING,
      removedMembers: [{ group: 1, member: { type: 'user', id: 1 } }],
    });

    expect(changed.map(({ resource, gained, lost }) => [resource, gained, lost?.filters])).toEqual([
      [{ catalog: 'sales', schema: 'eu' }, null, ["region = 'EU'"]],
    ]);
  });

  it('counts no dropped filter as gained where no rows are had any more', () => {
    const before = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales')
      .may('EXECUTE_FUNCTION', 'sales')
      .everyone()
      .seesOnly('sales', "region = 'EU'")
      .snapshot();

    const changed = differences(before, { ...NOTHING, revokedGrantIds: [1], deletedPolicyIds: [1] });

    expect(changed).toMatchObject([
      { gained: { privileges: ['EXECUTE_FUNCTION'], filters: [] }, lost: { privileges: ['SELECT'], filters: [] } },
    ]);
  });

  it('tells who has all of it already, and how', () => {
    const before = aSnapshot()
      .group('readers', ['ana', 'bo'])
      .may('SELECT', 'sales')
      .user('bo')
      .may('SELECT', 'sales.eu')
      .user('cy')
      .may('SELECT', 'sales')
      .mayNot('sales.eu', 'SELECT')
      .user('dan')
      .snapshot();
    const grant = (id: number, principal: SnapshotGrant['principal'], schema: string): SnapshotGrant => ({
      ...{ id, principal, resource: { catalog: 'sales', schema }, privileges: ['SELECT'] },
      ...{ expiresAt: null, revokedAt: null },
    });
    const outcomes = (draft: Draft) =>
      [
        ...accessDifferences(
          before,
          withDraft(before, draft),
          affectedNodes(before, draft),
          grantsOfDraft(before, draft),
        ),
      ].flatMap((each) =>
        each === null ? [] : [[each.principal.name, each.alreadyHeldThrough, each.differences.length]],
      );
    const readers = { group: expect.objectContaining({ name: 'readers' }) as unknown };

    expect(outcomes({ ...NOTHING, grants: [grant(-1, { type: 'everyone' }, 'eu')] })).toEqual([
      ['ana', readers, 0],
      ['bo', 'directly', 0],
      ['cy', null, 0],
      ['dan', null, 1],
    ]);
    const addedMembers = [1, 3, 4].map((id) => ({ group: 1, member: { type: 'user', id } as const }));
    expect(outcomes({ ...NOTHING, addedMembers })).toEqual([
      ['ana', readers, 0],
      ['cy', 'directly', 0],
      ['dan', null, 1],
    ]);
  });
});
