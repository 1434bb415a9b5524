import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import type { Question } from '../model/question.js';
import type { Snapshot } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';
import { type GrantOnPath, waysTo } from './ways.js';

const ORDERS: Question = {
  about: 'privilege',
  privilege: 'SELECT',
  resource: { catalog: 'sales', schema: 'eu', table: 'orders' },
};
const ETL = { type: 'engine', name: 'etl' } as const;

/** The store's answer: each grant of the snapshot with the name of its principal. */
function onPath(snapshot: Snapshot): GrantOnPath[] {
  const { principals } = new AccessIndex(snapshot);
  return snapshot.grants.map(({ principal, ...grant }) => ({
    ...grant,
    principal: principal.type === 'everyone' ? principal : principals.principalWithName(principal),
  }));
}

function ways(snapshot: Snapshot, principal: Parameters<typeof waysTo>[1], question = ORDERS) {
  return waysTo(new AccessIndex(snapshot), principal, question, onPath(snapshot)).map(
    ({ group, isForEveryone, grant, endsAt }) => [group?.name ?? (isForEveryone ? 'everyone' : null), grant, endsAt],
  );
}

describe('ways to a privilege', () => {
  it('are shortest first, and those from the nearest node before wider ones', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'sales')
      .may('SELECT', 'sales.eu')
      .everyone()
      .may('SELECT', 'sales')
      .user('ana')
      .may('SELECT', 'sales')
      .may('INSERT', 'sales')
      .snapshot();
    expect(ways(snapshot, { type: 'user', id: 1 })).toEqual([
      [null, 4, null],
      ['everyone', 3, null],
      ['readers', 2, null],
      ['readers', 1, null],
    ]);
  });

  it('end at the first step that is missing', () => {
    const snapshot = aSnapshot()
      .group('readers', ['ana'])
      .may('SELECT', 'sales.eu')
      .group('writers', ['bo'])
      .may('SELECT', 'sales')
      .may('INSERT', 'sales.eu')
      .everyone()
      .mayNot('sales.eu.orders', 'SELECT')
      .engine('etl')
      .snapshot();
    expect(ways(snapshot, { type: 'user', id: 1 })).toEqual([
      [null, null, { kind: 'no_grant' }],
      ['readers', 1, { kind: 'denied', policies: [1] }],
      ['writers', 2, { kind: 'not_a_member' }],
    ]);
    expect(ways(snapshot, ETL)).toEqual([
      [null, null, { kind: 'no_grant' }],
      ['readers', 1, { kind: 'not_a_member' }],
      ['writers', 2, { kind: 'not_a_member' }],
    ]);
  });

  it('end at the deny that takes what comes with other access', () => {
    const snapshot = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales')
      .user('bo')
      .everyone()
      .mayNot('system.jdbc', 'SELECT')
      .snapshot();
    const tables: Question = { ...ORDERS, resource: { catalog: 'system', schema: 'jdbc', table: 'tables' } };
    expect(ways(snapshot, { type: 'user', id: 1 }, tables)).toEqual([[null, null, { kind: 'denied', policies: [1] }]]);
    expect(ways(snapshot, { type: 'user', id: 2 }, tables)).toEqual([[null, null, { kind: 'no_grant' }]]);
  });

  it('end at a live grant that gives nothing there, and that is not called expired', () => {
    const metadata: Question = { ...ORDERS, resource: { catalog: 'grantline', schema: 's', table: 't' } };
    const snapshot = aSnapshot()
      .user('ana')
      .may('SELECT', '', { expiresAt: new Date('2099-01-01') })
      .snapshot();
    expect(ways(snapshot, { type: 'user', id: 1 }, metadata)).toEqual([[null, 1, { kind: 'no_grant' }]]);
  });

  it('of everyone end for an engine principal that is none of them', () => {
    const snapshot = aSnapshot().everyone().may('SELECT', 'sales').snapshot();
    expect(ways(snapshot, ETL)).toEqual([
      [null, null, { kind: 'no_grant' }],
      ['everyone', 1, { kind: 'not_a_member' }],
    ]);
  });

  it('of a group are its own', () => {
    const snapshot = aSnapshot().group('readers', []).group('writers', []).may('SELECT', 'sales').snapshot();
    expect(ways(snapshot, { type: 'group', id: 2 })).toEqual([[null, 1, null]]);
    expect(ways(snapshot, { type: 'group', id: 1 })).toEqual([[null, null, { kind: 'no_grant' }]]);
  });

  it('are found for rights of the engine', () => {
    const kill: Question = { about: 'queries', right: 'kill', owner: 'ana' };
    const snapshot = aSnapshot().group('wardens', []).may('KILL_QUERIES', { engine: true }).user('ana').snapshot();
    expect(ways(snapshot, { type: 'user', id: 1 }, kill)).toEqual([
      [null, null, { kind: 'no_grant' }],
      ['wardens', 1, { kind: 'not_a_member' }],
    ]);
  });
});
