import fc from 'fast-check';
import { anyRecordedChanges, explained } from '../../../test/support/snapshots/recorded-changes.js';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { Principals } from '../../trino-rules/model/principals.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { withdrawnSnapshot } from './withdrawal.js';

describe('a withdrawal', () => {
  it('gives no access that the previous or the explained snapshot does not give', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        const reduced = compile(withdrawnSnapshot(effectiveSnapshot(changed.previous), explained(changed))).document;
        const more = [effectiveSnapshot(changed.previous), explained(changed)].map(
          (snapshot) => compile(snapshot).document,
        );
        for (const document of more) expect(compareAccess(document, reduced)).toMatchObject({ gained: [] });
      }),
      { numRuns: 25 },
    );
  });

  it('gives no access that the previous or the current settings do not give', () => {
    const given = aSnapshot()
      .group('staff', ['ana', 'bo'])
      .may('SELECT', 'sales.eu.orders')
      .user('bo')
      .may('SELECT, TABLE_OWNERSHIP', 'sales')
      .seesMasked('sales.eu.orders', 'card', 'NULL')
      .snapshot();
    const catalogs = fc.subarray(['sales', 'hr', 'web'], { minLength: 1 });
    const settings = fc.record({
      serviceAccounts: fc.subarray(['loader', 'reporter']).map((others) => [given.settings.ownAccount, ...others]),
      writableCatalogs: catalogs,
      readableCatalogs: catalogs,
      impersonation: fc.boolean(),
      sessionProperties: fc.subarray(['query_max_run_time', 'join_reordering_strategy']),
      readersMaintain: fc.boolean(),
      rulesFile: fc.constantFrom(undefined, false),
      externalTableCatalogs: fc.subarray(['sales']),
      rawColumnCatalogs: fc.subarray(['sales']),
    });
    fc.assert(
      fc.property(settings, settings, (...both) => {
        const [previous, next] = both.map((each) => ({ ...given, settings: { ...given.settings, ...each } }));
        if (previous === undefined || next === undefined) throw new Error('two snapshots');
        const reduced = compile(withdrawnSnapshot(previous, next)).document;
        for (const snapshot of [previous, next])
          expect(compareAccess(compile(snapshot).document, reduced)).toMatchObject({ gained: [] });
      }),
      { numRuns: 20 },
    );
  });

  it('lets nobody act as who is known, or acts as others, in one of the two snapshots only', () => {
    const everyone = { as: { type: 'everyone' } } as const;
    const story = () => aSnapshot().user('ana').engine('board').may('IMPERSONATE', everyone).group('bots', [], ['etl']);
    const relay = story().engine('relay').may('IMPERSONATE', everyone);
    const actedAs = (previous: Snapshot, next: Snapshot) =>
      compile(withdrawnSnapshot(previous, next)).document.impersonation.map(({ new_user }) => new_user);

    const grown = story().group('more', [], ['new', 'relay']).snapshot();
    expect(actedAs(story().snapshot(), grown)).toEqual(['ana|etl']);
    expect(actedAs(relay.snapshot(), grown)).toEqual(['ana|etl']);
    expect(actedAs(grown, relay.group('more', [], ['new', 'relay']).snapshot())).toEqual(['ana|etl|new']);
  });

  it('hides a column when the nearer of two masks was added or removed', () => {
    const wide = () => aSnapshot().user('ana').may('SELECT', 'sales.eu').seesMasked('sales.eu', 'card', 'NULL');
    const [previous, next] = [wide(), wide().seesMasked('sales.eu.orders', 'card', "'x'")].map((w) => w.snapshot());
    if (previous === undefined || next === undefined) throw new Error('two snapshots');
    for (const [before, after] of [
      [previous, next],
      [next, previous],
    ] as const) {
      const { policies } = withdrawnSnapshot(before, after);
      const ofColumns = policies.filter(({ kind }) => kind !== 'deny');
      expect(ofColumns).toMatchObject([{ kind: 'column_mask' }, { kind: 'column_mask' }, { kind: 'hidden_column' }]);
    }
  });

  it.each([
    ['a mask that becomes another one', masked('NULL'), masked("'x'")],
    ['a mask added below another one', masked('NULL'), masked('NULL').seesMasked('sales.eu', 'card', "'x'")],
    ['a masked column that is hidden', masked('NULL'), writer().doesNotSee('sales', 'card')],
  ])('opens no writing beside %s', (_, before, after) => {
    const [previous, next] = [before.snapshot(), after.snapshot()];
    for (const [was, is] of [
      [previous, next],
      [next, previous],
    ] as const) {
      const reduced = compile(withdrawnSnapshot(was, is)).document;
      for (const snapshot of [was, is])
        expect(compareAccess(compile(snapshot).document, reduced)).toMatchObject({ gained: [] });
    }
  });

  it('applies the policies of each snapshot to copies of its groups, with ids of their own', () => {
    const previous = aSnapshot()
      .group('first', ['ana', 'bo'])
      .mayNot('sales', 'SELECT', { type: 'group', id: 2 })
      .group('second', ['cy', 'di'])
      .mayNot('hr')
      .user('ana')
      .mayNot('web')
      .snapshot();
    const explained = {
      ...previous,
      groups: previous.groups.map((group) => ({ ...group, members: group.id === 1 ? [1, 5] : [3, 5] })),
    };

    const { groups, policies } = withdrawnSnapshot(previous, explained);
    const [ofUser, ...ofGroups] = policies;

    expect(ofUser).toMatchObject({ principal: { type: 'user', id: 1 }, resource: { catalog: 'web' } });
    expect(new Set(groups.map(({ id }) => id)).size).toBe(6);
    const members = (principal: PolicyPrincipal) =>
      groups.find(({ id }) => principal.type === 'group' && id === principal.id)?.members;
    expect(ofGroups.map(({ principal, except }) => [members(principal), ...except.map(members)])).toEqual([
      [
        [1, 2],
        [3, 4],
      ],
      [
        [1, 5],
        [3, 5],
      ],
      [[3, 4]],
      [[3, 5]],
    ]);
    expect(new Set(policies.map(({ id }) => id)).size).toBe(5);
  });

  it.each([1, 2, 3, 4])('numbers %i changed groups and the group of everyone apart', (count) => {
    const story = (member: string, engines: string[]) => {
      const builder = aSnapshot().user('ana').user('bo');
      for (let i = 0; i < count; i++) builder.group(`team${i}`, [member], engines);
      return builder.everyone().may('SELECT', 'sales').snapshot();
    };
    const { groups, grants } = withdrawnSnapshot(story('ana', []), story('bo', ['etl']));
    expect(new Set(groups.map(({ id }) => id)).size).toBe(3 * count + 1);
    const everyone = groups.find(({ name }) => name.startsWith('everyone'));
    expect(grants).toMatchObject([{ principal: { type: 'group', id: everyone?.id } }]);
    expect(everyone).toMatchObject({ members: [1, 2], engines: [] });
  });

  it('is the explained snapshot if all changes only take access away', () => {
    fc.assert(
      fc.property(anyRecordedChanges('taking'), (changed) => {
        const [previous, next] = [effectiveSnapshot(changed.previous), explained(changed)];
        fc.pre(!isDeniedOnEveryone(next) || knownNames(previous) === knownNames(next));
        expect(compile(withdrawnSnapshot(previous, next)).text).toBe(compile(next).text);
      }),
    );
  });

  it("keeps a deny on everyone's queries for an owner whose last grant was revoked", () => {
    const story = () => aSnapshot().user('bob').may('KILL_QUERIES', { engine: true });
    const denied = (builder: ReturnType<typeof story>) => builder.everyone().mayNot(OF_EVERYONE).snapshot();
    const [previous, next] = [denied(story().engine('etl').may('SELECT', 'lake')), denied(story())];

    const { queries } = compile(withdrawnSnapshot(previous, next)).document;
    expect(queries[0]).toEqual({ user: 'bob', queryOwner: 'bob|etl', allow: [] });
  });
});

function writer() {
  return aSnapshot().user('ana').may('SELECT, INSERT, UPDATE, DELETE', 'sales');
}

function masked(expression: string) {
  return writer().seesMasked('sales', 'card', expression);
}

const OF_EVERYONE = { queries: { type: 'everyone' } } as const;

function isDeniedOnEveryone({ policies }: Snapshot): boolean {
  return policies.some(({ resource: { queries } }) => queries?.type === 'everyone');
}

/** How many names are known. */
function knownNames(snapshot: Snapshot): number {
  return new Principals(snapshot).owners({ type: 'everyone' }).size;
}
