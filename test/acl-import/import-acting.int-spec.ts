import type { PolicyPrincipal } from '../../src/trino-rules/model/principal.js';
import type { SnapshotGrant } from '../../src/trino-rules/model/snapshot.js';
import type { ListedUser } from '../../src/rules-files/foreign/audiences.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { readLeniently } from '../../src/rules-files/check/lenient-reader.js';
import { diffForeign } from '../../src/rules-files/foreign/foreign-diff.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { brief, imported } from './imported.js';

describe('the import of impersonation', () => {
  const acting = (impersonation: object[], users: readonly ListedUser[], queries = [{ allow: ['execute'] }]) => {
    const tables = [{ user: 'ana|bo', catalog: 'lake', privileges: ['SELECT'] }];
    const rules = { catalogs: [{ allow: 'read-only' }], schemas: [], tables, queries, impersonation };
    const result = imported(JSON.stringify(rules), users);
    const { groups, grants, policies, users: accounts } = result.snapshot;
    const nameOf = (named: PolicyPrincipal): string => {
      if (named.type === 'engine') return named.name;
      if (named.type === 'everyone') return 'everyone';
      const rows: readonly { id: number; name: string }[] = named.type === 'user' ? accounts : groups;
      return rows.find(({ id }) => id === named.id)?.name ?? '';
    };
    const acting = (rows: readonly Pick<SnapshotGrant, 'principal' | 'resource'>[]): string[] =>
      rows.flatMap(({ principal, resource: { as } }) =>
        as === undefined ? [] : [`${nameOf(principal)} as ${nameOf(as)}`],
      );
    const [acts, never] = [acting(grants), acting(policies)];
    const findings = brief(result).filter((each) => each.includes('impersonate'));
    const programs = result.findings.filter(({ code }) => code === 'import-program').flatMap(({ what }) => what);
    return { acts, never, groups, findings, programs, accounts: accounts.map(({ name }) => name) };
  };
  const plain = (name: string, ...groups: string[]): ListedUser => ({ name, groups });
  const person = (name: string, ...groups: string[]): ListedUser => ({ name, groups, isEngine: false });
  const engine = (name: string, ...groups: string[]): ListedUser => ({ name, groups, isEngine: true });

  it('lets engine principals of the list act as others: as a group of these, and as everyone where they act as anybody', () => {
    const rules = [
      { original_user: 'bi', new_user: 'ana|bo' },
      { original_user: 'portal', new_user: 'ana' },
      { original_user: 'notebook', new_user: 'bi', allow: false },
      { original_user: 'notebook' },
    ];
    const list = [person('ana', 'viewers'), person('bo', 'viewers'), person('cy')];
    const { acts, groups } = acting(rules, [...list, engine('bi'), engine('portal'), engine('notebook')]);
    // Who joins the viewers is not named.
    expect(acts).toEqual(['bi as imported-1', 'portal as ana', 'notebook as everyone']);
    expect(groups).toContainEqual({ id: 1, name: 'imported-1', members: [1, 2], engines: [] });
  });

  it('lets nobody act as one that acts as others, and no person act', () => {
    const rules = [
      { original_user: 'bi', new_user: 'portal|ana' },
      { original_user: 'portal', new_user: 'bo' },
      { original_user: 'cy', new_user: 'bo' },
    ];
    const list = [plain('ana'), person('bo'), person('cy'), engine('bi'), engine('portal')];
    const { acts, findings } = acting(rules, list);
    expect(acts).toEqual(['bi as ana', 'portal as bo']);
    expect(findings).toEqual([
      'impersonation[0] import-lost bi: impersonate portal',
      'impersonation[2] import-lost cy: impersonate bo',
    ]);
  });

  it.each([
    ['by its name', 'bi'],
    ['in an alternation', 'bi|notebook'],
    ['by a pattern that others do not match', 'b.*i'],
  ])('takes a user for a program whom a rule names %s, and says how the list marks it', (_, original_user) => {
    const list = [plain('ana'), plain('bo'), plain('bi', 'service'), plain('notebook')];
    const { acts, programs, accounts } = acting([{ original_user, new_user: 'ana|bo' }], list);
    const isAlternation = original_user.includes('notebook');
    expect(acts[0]).toBe('bi as imported-1');
    expect(programs).toEqual(['engine:bi: service', ...(isAlternation ? ['engine:notebook'] : [])]);
    expect(accounts).toEqual(['ana', 'bo', ...(isAlternation ? [] : ['notebook'])]);
  });

  it.each([
    ['everybody acts', [{ original_user: '.*', new_user: 'ana' }]],
    ['whoever acts is not named', [{ new_user: 'ana' }]],
    ['a pattern matches all of the list', [{ original_user: '(a|b).*', new_user: 'ana' }]],
    ['nobody of the list is acted as', [{ original_user: 'bi', new_user: 'stranger|bi' }]],
    ['an earlier rule forbids it', [{ original_user: 'bi', allow: false }, { original_user: 'bi' }]],
    ['an earlier rule is about everybody', [{ new_user: '.*', original_user: '[ab].*' }, { original_user: 'bi' }]],
  ])('takes nobody for a program where %s', (_, rules) => {
    const { acts, programs, accounts } = acting(rules, [plain('ana'), plain('bo'), plain('bi')]);
    expect({ acts, programs, accounts }).toEqual({ acts: [], programs: [], accounts: ['ana', 'bo', 'bi'] });
  });

  it('leaves a person of the list a person, who acts as nobody', () => {
    const list = [person('ana'), plain('bo'), plain('bi')];
    const { acts, findings, accounts } = acting([{ original_user: 'ana|bi', new_user: 'bo|ana' }], list);
    expect({ acts, accounts }).toEqual({ acts: ['bi as imported-1'], accounts: ['ana', 'bo'] });
    expect(findings).toEqual(['impersonation[0] import-lost ana: impersonate bo']);
  });

  it('lets two programs of a plain list act as people, and not as each other', () => {
    const list = [plain('ana'), plain('bo'), plain('bi'), plain('hub')];
    const { acts, findings } = acting([{ original_user: 'bi' }, { original_user: 'hub' }], list);
    expect(acts).toEqual(['bi as everyone', 'hub as everyone']);
    expect(findings).toEqual([
      'impersonation[0] import-lost bi: impersonate hub',
      'impersonation[1] import-lost hub: impersonate bi',
      'impersonation[0] import-strangers bi: impersonate {service-account-grantline, a stranger}',
      'impersonation[1] import-strangers hub: impersonate {service-account-grantline, a stranger}',
    ]);
  });

  it('leaves nobody of the same plain list a difference', () => {
    const { text } = compile(aSnapshot().group('readers', ['ana', 'ben']).may('SELECT', 'sales.eu').snapshot());
    const acts = '"impersonation":[{"original_user":"bi","new_user":"ana|ben"}]';
    const file = text.replace(/"impersonation":\[[^\]]*\]/, acts);
    const list = [plain('ana'), plain('ben'), plain('bi')];
    const [before, after] = [file, compile(imported(file, list).snapshot).text].map(
      (each) => readLeniently(each).rules,
    );
    if (!before || !after) throw new Error('no rules');
    const compared = diffForeign(before, after, list, new WorkBudget(300_000_000));
    expect(compared).toEqual({ kind: 'compared', access: { gained: [], lost: [] } });
  });

  it('lets act as everyone whom no rule keeps from anybody who may join, but from those who act as others', () => {
    const list = [plain('ana'), plain('bo'), plain('bi'), plain('hub')];
    const refused = (new_user: string) => ({ original_user: 'bi|hub', new_user, allow: false });
    const anybody = { original_user: 'bi|hub' };
    expect(acting([refused('bi|hub'), anybody], list).acts).toEqual(['bi as everyone', 'hub as everyone']);
    for (const left of ['root', 'admin_.*'])
      expect(acting([refused(left), anybody], list).acts).toEqual(['bi as imported-1', 'hub as imported-1']);
  });

  it('lets act as everyone but those whom a rule before leaves out by name, who are in the list', () => {
    const list = [plain('ana'), plain('bo'), plain('admin'), plain('root'), plain('bi')];
    const anybody = [{ original_user: 'bi', new_user: '(admin|root)', allow: false }, { original_user: 'bi' }];
    const { acts, never, groups, findings } = acting(anybody, list);
    expect({ acts, never }).toEqual({ acts: ['bi as everyone'], never: ['bi as imported-1'] });
    expect(groups).toContainEqual({ id: 1, name: 'imported-1', members: [3, 4], engines: [] });
    expect(findings).toEqual([
      'impersonation[1] import-strangers bi: impersonate {service-account-grantline, a stranger}',
    ]);
    const one = acting([{ original_user: 'bi', new_user: 'ana' }, ...anybody], list);
    expect({ acts: one.acts, never: one.never }).toEqual({ acts: ['bi as everyone'], never: ['bi as imported-1'] });
  });

  it.each([
    ['a pattern', [{ original_user: 'bi', new_user: '(ana|bo|dev_.*)' }]],
    ['what a group of the pattern matches', [{ original_user: '(bi)', new_user: '(ana|bo|$1_.*)' }]],
    ['all but a pattern', [{ original_user: 'bi', new_user: 'admin_.*', allow: false }, { original_user: 'bi' }]],
    [
      'all but a name that is not listed',
      [{ original_user: 'bi', new_user: 'root', allow: false }, { original_user: 'bi' }],
    ],
  ])('resolves %s over the list, which is a remark', (_, rules) => {
    const { acts, never, findings } = acting(rules, [plain('ana'), person('bo'), engine('bi')]);
    expect({ acts, never }).toEqual({ acts: ['bi as imported-1'], never: [] });
    expect(findings.map((each) => each.split(' ')[1])).toEqual(['import-unlisted']);
  });

  it('needs nothing for everybody who acts as themselves, nor without the section', () => {
    const list = [plain('ana'), plain('bo')];
    for (const rules of [[{ original_user: '(.*)', new_user: '$1' }], []]) {
      const { acts, findings, accounts } = acting(rules, list);
      expect({ acts, findings, accounts }).toEqual({ acts: [], findings: [], accounts: ['ana', 'bo'] });
    }
  });

  it('lets act as others who executes no queries, and gives that program nothing else', () => {
    const queries = [{ user: 'ana', allow: ['execute'] }];
    const { acts, findings } = acting(
      [{ original_user: 'bi', new_user: 'ana' }],
      [person('ana'), engine('bi')],
      queries,
    );
    expect({ acts, findings }).toEqual({ acts: ['bi as ana'], findings: [] });
  });
});
