import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import type { TablePrivilege } from '../document/rules-document.js';
import { decide } from './decision.js';
import { intentAt } from './intent.js';
import { nodeOf } from './node.js';
import { baseNames } from './restrictions.js';
import type { Snapshot, SnapshotSettings } from './snapshot.js';

const ANA = { type: 'user', id: 1 } as const;
type Builder = ReturnType<typeof aSnapshot>;

/** A snapshot in which ana has these privileges on the schema `sales.eu`, and `more` entries. */
function ana(privileges: string, more: (builder: Builder) => Builder = (builder) => builder): Snapshot {
  return more(aSnapshot().user('ana').may(privileges, 'sales.eu')).snapshot();
}

function has(snapshot: Snapshot, table: string): string[] {
  return intentAt(snapshot, ANA, nodeOf({ catalog: 'sales', schema: 'eu', table })).privileges;
}

describe('companions of a table', () => {
  it.each<[string, (builder: Builder) => Builder]>([
    ['a row filter on it', (builder) => builder.seesOnly('sales.eu.t', 'a = 1')],
    ['a mask on it', (builder) => builder.seesMasked('sales.eu.t', 'a', 'NULL')],
    ['a column of it that is hidden', (builder) => builder.doesNotSee('sales.eu.t', 'a')],
    ['a deny of SELECT on it', (builder) => builder.mayNot('sales.eu.t', 'SELECT')],
    ['a deny of everything on it', (builder) => builder.mayNot('sales.eu.t')],
    ['a row filter on its schema', (builder) => builder.seesOnly('sales.eu', 'a = 1')],
    ['a mask on its catalog', (builder) => builder.seesMasked('sales', 'a', 'NULL')],
    ['a column that is hidden everywhere', (builder) => builder.doesNotSee('', 'a')],
  ])('are closed, whatever is granted on them, by %s', (_, restrict) => {
    const snapshot = ana('SELECT, INSERT, TABLE_OWNERSHIP', (builder) =>
      restrict(builder.may('SELECT, INSERT', 'sales.eu.t$files')),
    );

    expect(['t$files', 't$', 't$files$files'].map((table) => has(snapshot, table))).toEqual([[], [], []]);
    expect(has(snapshot, 'tt')).not.toEqual([]);
  });

  it('stay with a deny of other privileges, and without any restriction', () => {
    expect(has(ana('SELECT, INSERT'), 't$files')).toEqual(['SELECT', 'INSERT']);
    expect(
      has(
        ana('SELECT, INSERT', (builder) => builder.mayNot('sales.eu.t', 'INSERT')),
        't$files',
      ),
    ).toEqual(['SELECT', 'INSERT']);
  });

  it('come with no grant on the table alone', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'sales.eu.t').snapshot();

    expect(has(snapshot, 't$files')).toEqual([]);
  });

  it('open neither their catalog nor executing where they are closed', () => {
    const closed = aSnapshot().user('ana').may('SELECT', 'sales.eu.t$files').seesOnly('sales.eu.t', 'a = 1').snapshot();

    expect(decide(closed, ANA, { about: 'queries', right: 'execute' }).allowed).toBe(false);
    expect(
      decide(closed, ANA, { about: 'catalog-mode', resource: { catalog: 'sales' }, mode: 'read-only' }).allowed,
    ).toBe(false);
  });

  it('name the policy of the base that closes them', () => {
    const snapshot = ana('SELECT', (builder) => builder.seesOnly('sales.eu.t', 'a = 1'));
    const resource = { catalog: 'sales', schema: 'eu', table: 't$files' };

    const { denies } = decide(snapshot, ANA, { about: 'privilege', resource, privilege: 'SELECT' });

    expect(denies.map(({ source }) => source.id)).toEqual([1]);
  });

  it.each([
    ['a$b$c', ['a', 'a$b']],
    ['$a', []],
    ['$a$b', ['$a']],
    ['a$', ['a']],
    ['a', []],
  ])('of %s have the bases %j', (name, bases) => {
    expect(baseNames(name)).toEqual(bases);
  });

  it('with several signs obey each prefix', () => {
    const snapshot = ana('SELECT', (builder) => builder.seesOnly('sales.eu.a$b', 'a = 1'));

    expect(['a', 'a$c', 'a$b', 'a$b$c'].map((table) => has(snapshot, table))).toEqual([
      ['SELECT'],
      ['SELECT'],
      ['SELECT'],
      [],
    ]);
  });
});

describe('writing beside a restriction', () => {
  const ALL = 'SELECT, INSERT, DELETE, UPDATE';

  it.each<[string, (builder: Builder) => Builder, string[]]>([
    ['a row filter', (builder) => builder.seesOnly('sales.eu.t', 'a = 1'), ['SELECT', 'INSERT']],
    ['a mask', (builder) => builder.seesMasked('sales.eu.t', 'a', 'NULL'), ['SELECT']],
    ['a hidden column', (builder) => builder.doesNotSee('sales.eu.t', 'a'), ['SELECT', 'INSERT', 'DELETE', 'UPDATE']],
    [
      'a mask that a hidden column beats',
      (builder) => builder.seesMasked('sales.eu.t', 'a', 'NULL').doesNotSee('sales.eu', 'a'),
      ['SELECT', 'INSERT', 'DELETE', 'UPDATE'],
    ],
  ])('beside %s leaves what the engine can restrict', (_, restrict, left) => {
    expect(has(ana(ALL, restrict), 't')).toEqual(left);
    expect(has(ana(ALL, restrict), 'other')).toEqual(['SELECT', 'INSERT', 'DELETE', 'UPDATE']);
  });
});

describe('columns of the storage', () => {
  const hidden = (settings: Partial<SnapshotSettings>, restrict: (builder: Builder) => Builder) =>
    intentAt(
      ana('SELECT', (builder) => restrict(builder).with(settings)),
      ANA,
      nodeOf({ catalog: 'sales', schema: 'eu', table: 't' }),
    ).hiddenColumns;

  it('are hidden beside masked and hidden columns, and the raw ones in the catalogs of the setting', () => {
    const masked = (builder: Builder) => builder.seesMasked('sales.eu.t', 'a', 'NULL');

    expect(hidden({}, masked)).toEqual(['$bucket', '$partition', '$path']);
    expect(hidden({ rawColumnCatalogs: ['sales'] }, masked)).toContain('_message');
    expect(hidden({ rawColumnCatalogs: ['lake'] }, masked)).not.toContain('_message');
    expect(hidden({}, (builder) => builder.seesOnly('sales.eu.t', 'a = 1'))).toEqual([]);
  });
});

describe('table procedures', () => {
  const may = (snapshot: Snapshot) =>
    decide(snapshot, ANA, { about: 'table-procedures', resource: { catalog: 'sales', schema: 'eu', table: 't' } })
      .allowed;

  it('are open to those who may also write, and to readers by the setting alone', () => {
    expect(may(ana('SELECT'))).toBe(false);
    expect(may(ana('GRANT_SELECT'))).toBe(false);
    for (const privilege of ['INSERT', 'UPDATE', 'DELETE', 'TABLE_OWNERSHIP'])
      expect(may(ana(`SELECT, ${privilege}`))).toBe(true);
    expect(may(ana('SELECT, SCHEMA_OWNERSHIP'))).toBe(false);
    expect(may(ana('SELECT', (builder) => builder.with({ readersMaintain: true })))).toBe(true);
  });

  it('close with what is left beside a restriction', () => {
    expect(may(ana('SELECT, UPDATE', (builder) => builder.seesOnly('sales.eu.t', 'a = 1')))).toBe(false);
    expect(may(ana('SELECT, INSERT', (builder) => builder.seesMasked('sales.eu.t', 'a', 'NULL')))).toBe(false);
    expect(may(ana('SELECT, TABLE_OWNERSHIP', (builder) => builder.doesNotSee('sales.eu.t', 'a')))).toBe(false);
    expect(may(ana('SELECT, UPDATE', (builder) => builder.doesNotSee('sales.eu.t', 'a')))).toBe(true);
  });
});

describe('ownership in a catalog over shared files', () => {
  const owns = (restrict: (builder: Builder) => Builder, privilege: TablePrivilege = 'OWNERSHIP') => {
    const snapshot = restrict(
      aSnapshot()
        .user('ana')
        .may('OWNERSHIP', 'sales.mine')
        .with({ externalTableCatalogs: ['sales'] }),
    ).snapshot();
    const resource = { catalog: 'sales', schema: 'mine', table: 't' };
    return [
      decide(snapshot, ANA, { about: 'privilege', resource, privilege }).allowed,
      decide(snapshot, ANA, { about: 'schema-ownership', resource: { catalog: 'sales', schema: 'mine' } }).allowed,
    ];
  };

  it('yields to what restricts reading anywhere in the catalog', () => {
    expect(owns((builder) => builder)).toEqual([true, true]);
    expect(owns((builder) => builder.seesOnly('sales.other.t', 'a = 1'))).toEqual([false, false]);
    expect(owns((builder) => builder.mayNot('sales.other.t', 'SELECT'))).toEqual([false, false]);
    expect(owns((builder) => builder.mayNot('sales.other.t', 'INSERT'))).toEqual([true, true]);
    expect(owns((builder) => builder.seesOnly('lake.other.t', 'a = 1'))).toEqual([true, true]);
    expect(owns((builder) => builder.seesOnly('sales.other.t', 'a = 1').with({ externalTableCatalogs: [] }))).toEqual([
      true,
      true,
    ]);
  });
});
