import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { losingNames } from './losing-names.js';

type Story = ReturnType<typeof aSnapshot>;
const lost = (was: Story | Snapshot, is: Story | Snapshot): string[] => {
  const [previous, explained] = [was, is].map((each) => ('snapshot' in each ? each.snapshot() : each)) as [
    Snapshot,
    Snapshot,
  ];
  return [...losingNames(previous, explained)].sort();
};
const as = (named: PolicyPrincipal) => ({ as: named });
const VIEWERS = { type: 'group', id: 1 } as const;

describe('names that lose something', () => {
  it('are the members of a grant that ended or changed, and of one that stays who left its group', () => {
    const story = (when = {}, privileges = 'SELECT') =>
      aSnapshot().group('a', ['ana', 'bo']).may(privileges, 'sales', when).group('b', ['cy']).may('SELECT', 'hr');
    expect(lost(story(), story())).toEqual([]);
    expect(lost(story(), story({ revokedAt: NOW }))).toEqual(['ana', 'bo']);
    expect(lost(story(), story({ expiresAt: NOW }))).toEqual(['ana', 'bo']);
    expect(lost(story({}, 'SELECT, INSERT'), story())).toEqual(['ana', 'bo']);
    const previous = story().snapshot();
    const groups = previous.groups.map((group) => ({ ...group, members: group.members.slice(1) }));
    expect(lost(previous, { ...previous, groups })).toEqual(['ana', 'cy']);
    expect(lost({ ...previous, groups }, previous)).toEqual([]);
  });

  it('are accounts that are deactivated, renamed or gone, whatever they had, and service accounts that are none any more', () => {
    const staff = () => aSnapshot().user('ana').may('SELECT', 'sales').user('bo').user('cy').deactivated('cy');
    const previous = staff().snapshot();
    expect(lost(previous, staff().deactivated('ana').deactivated('bo'))).toEqual(['ana', 'bo']);
    expect(lost(staff().deactivated('ana'), previous)).toEqual([]);
    const [ana, ...others] = previous.users;
    if (ana === undefined) throw new Error('there is a first one');
    expect(lost(previous, { ...previous, users: [{ ...ana, name: 'anna' }, ...others] })).toEqual(['ana']);
    expect(lost(previous, { ...previous, users: others })).toEqual(['ana']);
    expect(lost(staff().with({ serviceAccounts: ['loader'] }), staff())).toEqual(['loader']);
  });

  it('are those to whom a policy newly applies or says something else, and not those whom one is about no longer', () => {
    const story = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales');
    const filtered = (expression: string) => story().user('ana').seesOnly('sales.eu', expression);
    expect(lost(story(), filtered('true'))).toEqual(['ana']);
    expect(lost(filtered('true'), filtered('false'))).toEqual(['ana']);
    expect(lost(filtered('true'), story())).toEqual([]);
    const masked = (wide: string) =>
      story().seesMasked('sales', 'ssn', wide).user('ana').seesMasked('sales.eu', 'ssn', "'x'");
    const without = (story: Story): Snapshot => ({
      ...story.snapshot(),
      policies: story.snapshot().policies.slice(0, 1),
    });
    expect(lost(masked('NULL'), without(masked('NULL')))).toEqual(['ana']);
    expect(lost(masked("'x'"), without(masked("'x'")))).toEqual([]);
  });

  it('are those with restrictions in a catalog in which settings let these take something else', () => {
    const story = (catalogs: string[]) =>
      aSnapshot()
        .with({ externalTableCatalogs: catalogs })
        .user('ana')
        .may('SELECT, OWNERSHIP', 'sales')
        .seesOnly('sales.eu', 'true')
        .user('bo')
        .may('OWNERSHIP', 'sales');
    expect(lost(story([]), story(['sales']))).toEqual(['ana']);
    const [was, is] = [story([]).snapshot(), story(['sales']).snapshot()];
    expect(lost(was, { ...is, policies: [] })).toEqual(['ana']);
    expect(lost(is, was)).toEqual(['ana']);
  });

  it('are those who see the queries of fewer, and of those to whom a deny says so nobody else', () => {
    const team = (members: string[], denied: string[] = []) =>
      aSnapshot()
        .user('ana')
        .user('bo')
        .group('team', members)
        .group('managers', denied)
        .user('dee')
        .may('VIEW_QUERIES', { queries: { type: 'group', id: 1 } })
        .everyone()
        .mayNot({ queries: { type: 'group', id: 2 } });
    expect(lost(team(['ana', 'bo']), team(['ana']))).toEqual(['bo', 'dee']);
    expect(lost(team(['ana', 'bo']), team(['ana', 'bo'], ['ana']))).toEqual(['dee']);
    expect(lost(team(['ana']), team(['ana', 'bo']))).toEqual([]);
  });

  it('are programs that act as fewer others, unless it is these who lost something', () => {
    const rows = () =>
      aSnapshot().group('viewers', ['ana', 'bo'], ['bot']).engine('dash').may('IMPERSONATE', as(VIEWERS));
    const before = rows().snapshot();
    expect(lost(before, { ...before, grants: [] })).toEqual(['dash']);
    expect(lost(before, rows().deactivated('bo'))).toEqual(['bo']);
    expect(lost(before, rows().mayNot(as({ type: 'user', id: 1 })))).toEqual(['dash']);
    expect(
      lost(
        before,
        rows()
          .engine('bot')
          .may('IMPERSONATE', as({ type: 'user', id: 1 })),
      ),
    ).toEqual(['dash']);
    expect(lost(before, rows().may('IMPERSONATE', as({ type: 'everyone' })))).toEqual([]);
  });
});
