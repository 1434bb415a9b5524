import fc from 'fast-check';
import { anyRecordedChanges, explained } from '../../../test/support/snapshots/recorded-changes.js';
import { aSnapshot, NOW, SETTINGS } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { checkMarker } from '../../trino-rules/lint/open-patterns.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { areShutOut } from '../../trino-rules/transition/denials.js';
import { judgeRules } from '../../trino-rules/verify/check.js';
import { isRefused } from './candidate.js';
import { closedRules, losingNames } from './closed-rules.js';

const { ownAccount } = SETTINGS;
const eu = { catalog: 'sales', schema: 'eu' };
const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT, EXECUTE_FUNCTION', 'sales.eu');
const anaLeft = (): Snapshot => {
  const snapshot = readers().snapshot();
  return { ...snapshot, groups: snapshot.groups.map((group) => ({ ...group, members: [2] })) };
};

function closed(document: RulesDocument, previous = readers().snapshot(), explained = anaLeft()) {
  const rules = closedRules(document, { previous, explained }, ownAccount);
  if (rules === null) throw new Error('the denials could not be checked');
  return rules;
}

describe('the published rules with denials in front', () => {
  it('give nothing at all to whoever lost something, and to others what they did', () => {
    const { document } = compile(readers().user('ana').may('SELECT, OWNERSHIP', 'hr').snapshot());
    const engine = new Evaluator(
      closed({ ...document, procedures: [{ catalog: 'sales', privileges: ['EXECUTE'] }] }).document,
    );
    const rights = (user: string): unknown[] => [
      engine.hasTablePrivilege(user, 'SELECT', { ...eu, table: 'orders' }),
      engine.mayReadCatalog(user, 'hr'),
      ...(['function', 'procedure'] as const).map((kind) =>
        engine.mayRunRoutine(user, { kind, resource: { ...eu, routine: 'load' }, privilege: 'EXECUTE' }),
      ),
      engine.hasQueryRight(user, 'execute'),
      engine.mayImpersonate(ownAccount, user),
    ];
    expect(rights('ana')).toEqual([false, false, false, false, false, false]);
    expect(rights('bo')).toEqual([true, false, true, true, true, true]);
  });

  it('never shut out the account that asks for their version, whatever it lost', () => {
    const loses = (name: string) => aSnapshot().engine(name).may('SELECT', 'sales').snapshot();
    const { document } = compile(readers().snapshot());
    const was = { ...loses(ownAccount), settings: { ...SETTINGS, serviceAccounts: ['other'], ownAccount: 'other' } };
    const { text } = closed(document, was, { ...was, grants: [] });
    expect(text).toBe(compile(readers().snapshot()).text);
  });

  it.each([
    ['as the compiler writes it', compile(readers().snapshot()).document],
    ['without a marker', { ...NO_RULES, system_session_properties: [{ user: ownAccount, allow: true }] }],
  ])('name their own version to the account that asks for it, in a text %s', (_, document) => {
    const rules = closed(document);
    const users = new UserUniverse([ownAccount], [rules.document], new PatternCache());
    expect(checkMarker(rules.text, rules.document, ownAccount, users)).toEqual([]);
    expect(rules.text).toContain(rules.hash);
  });
});

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

describe('the snapshot of the denials', () => {
  it('still denies others the queries of a program that lost something', () => {
    const story = () =>
      aSnapshot()
        .user('ana')
        .may('KILL_QUERIES', { engine: true })
        .mayNot({ queries: { type: 'engine', name: 'dash' } }, 'KILL_QUERIES');
    const previous = story().engine('dash').may('SELECT', 'sales').snapshot();
    const { snapshot } = closed(compile(previous).document, previous, story().snapshot());
    const engine = new Evaluator(compile(snapshot).document);
    expect(['dash', 'other'].map((owner) => engine.hasQueryRight('ana', 'kill', owner))).toEqual([false, true]);
  });

  it('gives no more than the rules with the denials, and nothing to those who lost', () => {
    let shutOut = 0;
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        const previous = effectiveSnapshot(changed.previous);
        const pair = { previous, explained: explained(changed) };
        const rules = closedRules(compile(previous).document, pair, ownAccount);
        if (rules === null) return;
        const made = compile(rules.snapshot);
        expect(isRefused({ findings: judgeRules(made.text, rules.snapshot).findings })).toBe(false);
        expect(compareAccess(rules.document, made.document).gained).toEqual([]);
        const names = [...losingNames(previous, pair.explained)].filter((name) => name !== ownAccount);
        shutOut += names.length;
        expect(areShutOut(made.document, names)).toBe(true);
      }),
      { numRuns: 50 },
    );
    expect(shutOut).toBeGreaterThan(15);
  });
});
