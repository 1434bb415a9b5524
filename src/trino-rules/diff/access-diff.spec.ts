import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../compile/compile.js';
import type { RulesDocument } from '../document/rules-document.js';
import { diffAccess } from './access-diff.js';
import { accessDiffForm, accessDiffLines } from './access-diff-form.js';

describe('the access that differs between two documents', () => {
  it('takes a name that two patterns make, the empty one too, for one user', () => {
    const empty = compile(aSnapshot().snapshot()).document;
    const document = (...users: string[]): RulesDocument => ({
      ...empty,
      catalogs: users.map((user) => ({ user, catalog: 'lake', allow: 'all' })),
    });
    const { gained, lost } = diffAccess(document('a?'), document('b?'));
    expect([gained, lost].map((changes) => changes.map(({ people }) => people))).toEqual([
      [['b'], ['b']],
      [['a'], ['a']],
    ]);
  });

  it('names all users and all nodes, however many there are', () => {
    const people = Array.from({ length: 200 }, (_, i) => `user_${i}`);
    const story = () => {
      const builder = aSnapshot().group('all', people);
      for (let i = 0; i < 150; i++) builder.may('SELECT', `sales.eu.t${i}`);
      return builder;
    };
    const after = compile(story().may('SELECT', 'sales.eu').snapshot()).document;
    const { gained, lost } = diffAccess(compile(aSnapshot().snapshot()).document, after);
    const tables = gained.filter(({ fact }) => fact.about === 'privilege' && fact.resource.catalog === 'sales');
    expect(tables.map(({ people }) => people.length)).toEqual(tables.map(() => 200));
    expect(lost).toEqual([]);
    expect(accessDiffForm({ gained, lost }).gained).toContainEqual({
      kind: 'privilege',
      resource: { catalog: 'sales', schema: 'eu' },
      privilege: 'SELECT',
      what: 'SELECT from sales.eu.(any other table)',
      people: [...people].sort(),
      strangers: [],
    });
  });

  it('lists a named table too where only the schema above it changes', () => {
    const [ana, bo] = [
      () => aSnapshot().user('ana').may('INSERT', 'sales.eu.orders').user('bo'),
      () => aSnapshot().user('ana').may('INSERT', 'sales.eu.orders').user('bo').may('SELECT', 'sales.eu'),
    ].map((story) => compile(story().snapshot()).document);
    if (!ana || !bo) throw new Error('two documents');
    const select = accessDiffForm(diffAccess(ana, bo)).gained.filter(({ privilege }) => privilege === 'SELECT');
    expect(select.map(({ resource, people }) => [resource, people])).toEqual([
      [{ catalog: 'sales', schema: 'eu', table: 'orders' }, ['bo']],
      [{ catalog: 'sales', schema: 'eu' }, ['bo']],
      [{ catalog: 'system', schema: 'jdbc' }, ['bo']],
      [{ catalog: 'system', schema: 'metadata' }, ['bo']],
    ]);
  });

  it('has the users and nodes that an open pattern spells out beside what it leaves open', () => {
    const empty = compile(aSnapshot().snapshot()).document;
    const open: RulesDocument = {
      ...empty,
      catalogs: [{ user: 'ana|svc_.*', catalog: 'sales_(eu|tmp.*)', allow: 'all' }],
    };
    const gained = accessDiffForm(diffAccess(empty, open)).gained.filter(
      ({ resource }) => resource?.catalog !== 'system',
    );
    expect(gained.map(({ resource, people, strangers }) => [resource?.catalog, people, strangers])).toEqual([
      ['sales_eu', ['ana'], ['svc_…']],
      ['sales_eu', ['ana'], ['svc_…']],
      ['sales_tmp…', ['ana'], ['svc_…']],
      ['sales_tmp…', ['ana'], ['svc_…']],
    ]);
  });

  it('shows open patterns as what they let in', () => {
    const empty = compile(aSnapshot().snapshot()).document;
    const open: RulesDocument = {
      ...empty,
      catalogs: [{ user: 'ana.*', catalog: 'sales.*', allow: 'read-only' }],
      tables: [{ user: 'ana.*', table: 'orders', privileges: ['SELECT'] }],
    };
    expect(accessDiffLines(diffAccess(empty, open))).toEqual(
      expect.arrayContaining(['gained by ana…:', '  SELECT from sales….(any other schema).orders']) as unknown,
    );
    const gained = accessDiffForm(diffAccess(empty, open)).gained;
    expect(gained).toContainEqual(
      expect.objectContaining({
        resource: { catalog: 'sales…', schema: null, table: 'orders' },
        people: [],
        strangers: ['ana…'],
      }) as unknown,
    );
  });
});
