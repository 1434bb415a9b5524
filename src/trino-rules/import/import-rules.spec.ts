import fc from 'fast-check';
import { anyRules } from '../../../test/support/any-rules.js';
import { anySnapshot } from '../../../test/support/any-snapshot.js';
import { NOW, SETTINGS } from '../../../test/support/snapshot-builder.js';
import { compile } from '../compile/compile.js';
import { NO_RULES, type RulesDocument } from '../document/rules-document.js';
import { provenImport } from './proven-import.js';

const defaults = { settings: SETTINGS, at: NOW };

describe('the import of rules', () => {
  it('means the same for everyone, of whatever was compiled', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const { document } = compile(snapshot);
        const names = snapshot.users.map(({ name }) => name);
        const { differences } = provenImport(document, names, { settings: snapshot.settings, at: NOW });
        expect(differences).toEqual({ gained: [], lost: [] });
      }),
      { numRuns: 200 },
    );
  });

  it('never gives more than any document gives', () => {
    fc.assert(
      fc.property(anyRules(), (document) => {
        const { differences } = provenImport(document, ['a', 'ab', 'b0', 'x$'], defaults);
        expect(differences.gained.map(({ fact }) => fact)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });

  it('makes a group of users who are alike', () => {
    const rules: RulesDocument = {
      ...NO_RULES,
      catalogs: [{ catalog: 'sales', allow: 'all' }],
      tables: [
        { user: 'cy', catalog: 'sales', schema: 'hr', privileges: [] },
        { catalog: 'sales', schema: 'hr', table: 'salaries', privileges: [] },
        { catalog: 'sales', privileges: ['SELECT'] },
      ],
    };
    const { snapshot, differences } = provenImport(rules, ['ana', 'bo', 'cy'], defaults);
    expect(snapshot.groups).toEqual([{ id: 1, name: 'imported-1', members: [1, 2] }]);
    expect(snapshot.grants).toMatchObject([
      { principal: { type: 'group', id: 1 }, resource: { catalog: 'sales' }, privileges: ['SELECT'] },
      { principal: { type: 'user', id: 3 }, resource: { catalog: 'sales' }, privileges: ['SELECT'] },
    ]);
    expect(snapshot.policies).toMatchObject([
      { kind: 'deny', resource: { catalog: 'sales', schema: 'hr', table: 'salaries' } },
      { kind: 'deny', resource: { catalog: 'sales', schema: 'hr' } },
    ]);
    expect(differences.gained).toEqual([]);
  });

  it('gives less at names that an open pattern may match', () => {
    const rules: RulesDocument = {
      ...NO_RULES,
      catalogs: [{ catalog: 'sales', allow: 'all' }],
      tables: [
        { catalog: 'sales', schema: 'eu', table: 'secret_.*', privileges: [] },
        { catalog: 'sales', schema: 'eu', table: 'orders', privileges: ['SELECT'] },
        { catalog: 'sales', schema: 'eu', privileges: ['SELECT'] },
      ],
    };
    const { snapshot, differences } = provenImport(rules, ['ana'], defaults);
    expect(snapshot.grants.map(({ resource }) => resource)).toEqual([
      { catalog: 'sales', schema: 'eu', table: 'orders' },
    ]);
    expect(differences.gained).toEqual([]);
    expect(differences.lost).toContainEqual(
      expect.objectContaining({ people: ['ana'], fact: expect.objectContaining({ privilege: 'SELECT' }) as unknown }),
    );
  });
});
