import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
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
      acting: [],
      queries: [],
      withoutAccess: ['bo'],
    });
  });

  it('is all access of whoever is deactivated, with a grant or without, and of nobody who was so before', () => {
    const staff = () => aSnapshot().user('ana').may('SELECT', 'sales').user('bo').user('cy').deactivated('cy');
    const [before, after] = [staff().snapshot(), staff().deactivated('ana').deactivated('bo').snapshot()];
    expect(revokedAccess(before, after).withoutAccess).toEqual(['ana', 'bo']);
    expect(revokedAccess(after, before).withoutAccess).toEqual([]);
  });

  it('is the queries of those whom a grant that ended was about', () => {
    const ended = (when: { revokedAt?: Date; expiresAt?: Date }) =>
      aSnapshot()
        .group('team', ['ana', 'bo'])
        .user('dee')
        .may('VIEW_QUERIES', { queries: { type: 'group', id: 1 } }, when)
        .snapshot();
    const lost = [{ user: 'dee', owners: ['ana', 'bo'] }];
    expect(revokedAccess(ended({}), ended({ revokedAt: NOW })).queries).toMatchObject(lost);
    expect(revokedAccess(ended({}), ended({ expiresAt: NOW })).queries).toMatchObject(lost);
    expect(revokedAccess(ended({ revokedAt: NOW }), ended({})).queries).toEqual([]);
  });

  it('leaves a catalog where a grant on everything still gives something, and takes all where that grant is gone', () => {
    const everything = aSnapshot().user('ana').may('SELECT', '').may('SELECT', 'hr');
    const before = everything.snapshot();
    const [onEverything, ...others] = before.grants;

    expect(revokedAccess(before, everything.mayNot('sales.eu').snapshot())).toEqual({
      nodes: [{ resource: { catalog: 'sales', schema: 'eu' }, names: ['ana'] }],
      routines: [],
      acting: [],
      queries: [],
      withoutAccess: [],
    });
    expect(onEverything?.resource).toEqual({});
    expect(revokedAccess(before, { ...before, grants: others })).toEqual({
      nodes: [{ resource: {}, names: ['ana'] }],
      routines: [],
      acting: [],
      queries: [],
      withoutAccess: ['ana'],
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

  it('of acting as others is lost by revoke, deactivation, a deny and a new holder, and by nothing else', () => {
    const as = (named: PolicyPrincipal) => ({ as: named });
    const rows = () =>
      aSnapshot()
        .group('viewers', ['ana', 'bo'], ['bot'])
        .engine('dash')
        .may('IMPERSONATE', as({ type: 'group', id: 1 }));
    const before = rows().snapshot();
    const lost = (after: Snapshot) => revokedAccess(before, after).acting.flatMap(({ names }) => names);

    expect(lost({ ...before, grants: [] })).toEqual(['ana', 'bo', 'bot']);
    expect(lost(rows().deactivated('bo').snapshot())).toEqual(['bo']);
    expect(
      lost(
        rows()
          .mayNot(as({ type: 'user', id: 1 }))
          .snapshot(),
      ),
    ).toEqual(['ana']);
    expect(
      lost(
        rows()
          .engine('bot')
          .may('IMPERSONATE', as({ type: 'user', id: 1 }))
          .snapshot(),
      ),
    ).toEqual(['bot']);
    expect(
      lost(
        rows()
          .engine('dash')
          .may('IMPERSONATE', as({ type: 'everyone' }))
          .snapshot(),
      ),
    ).toEqual([]);
  });
});
