import fc from 'fast-check';
import { aSnapshot, SETTINGS } from '../../../test/support/snapshots/snapshot-builder.js';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { compile } from '../compile/compile.js';
import type { Finding } from '../document/finding.js';
import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { EngineSets } from '../engine/engine-sets.js';
import { UserUniverse } from '../engine/user-universe.js';
import { checkInvariants, type InvariantSettings } from './invariants.js';

const SA = 'service-account-grantline';
const rules = compile(aSnapshot().group('readers', ['ana']).may('SELECT', 'lake.eu').snapshot()).document;

describe('the invariants', () => {
  it('hold for whatever the compiler makes', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        expect(findingsOf(compile(snapshot).document, snapshot.settings)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it.each<[string, Partial<RulesDocument>, string, RegExp]>([
    [
      'no rule in catalogs',
      { catalogs: not(SA, rules.catalogs) },
      'invariant-section-missing',
      /^catalogs has no rule/,
    ],
    ['no rule in schemas', { schemas: not(SA, rules.schemas) }, 'invariant-section-missing', /^schemas has no rule/],
    [
      'no rule in tables',
      { tables: not(SA, rules.tables) },
      'invariant-section-missing',
      /^tables has no rule for service-account-grantline/,
    ],
    [
      'a writable catalog that is read-only',
      { catalogs: [{ user: SA, catalog: 'lake', allow: 'read-only' }] },
      'invariant-writable-catalog',
      /^catalogs\[0\] does not give service-account-grantline in the writable catalog lake the mode all/,
    ],
    [
      'schemas that it does not own',
      { schemas: [{ user: SA, catalog: 'lake', owner: false }, ...rules.schemas] },
      'invariant-writable-catalog',
      /^schemas\[0\] does not make/,
    ],
    [
      'one schema that it does not own',
      { schemas: [{ catalog: 'lake', schema: 'eu', owner: false }, ...rules.schemas] },
      'invariant-writable-catalog',
      /^schemas\[0\] does not make/,
    ],
    [
      'tables without GRANT_SELECT',
      { tables: [{ user: SA, privileges: ['SELECT', 'OWNERSHIP'] }, ...rules.tables] },
      'invariant-writable-catalog',
      /^tables\[0\] decides first .* lacks GRANT_SELECT, so CREATE TABLE and CREATE VIEW/,
    ],
    [
      'one table without OWNERSHIP',
      { tables: [{ catalog: 'lake', schema: 'eu', table: 'a|b', privileges: ['GRANT_SELECT'] }, ...rules.tables] },
      'invariant-writable-catalog',
      /^tables\[0\] decides first .* lacks OWNERSHIP/,
    ],
    [
      'a narrow rule of another user before its own',
      { tables: [{ user: 'ana|service-account-.*', catalog: 'lake', privileges: ['SELECT'] }, ...rules.tables] },
      'invariant-writable-catalog',
      /lacks OWNERSHIP and GRANT_SELECT/,
    ],
    [
      'a catalog pattern that matches the metadata catalog',
      { catalogs: [...rules.catalogs, { user: SA, catalog: 'g.*', allow: 'read-only' }] },
      'invariant-metadata-catalog',
      /opens the metadata catalog grantline/,
    ],
    [
      'tables of the metadata catalog',
      { tables: [...rules.tables, { user: SA, privileges: ['SELECT'] }] },
      'invariant-metadata-catalog',
      /^tables\[\d+\] opens/,
    ],
    [
      'schemas of the metadata catalog',
      { schemas: [...rules.schemas, { user: SA, catalog: 'grantline', owner: true }] },
      'invariant-metadata-catalog',
      /^schemas\[\d+\] opens/,
    ],
    [
      'another user in the metadata catalog',
      { catalogs: [{ user: 'ana', catalog: 'lake|grantline', allow: 'read-only' }, ...rules.catalogs] },
      'invariant-metadata-catalog',
      /^catalogs\[0\] opens/,
    ],
    [
      'all users in the metadata catalog',
      { catalogs: [...rules.catalogs.slice(0, -1), { allow: 'read-only' }] },
      'invariant-metadata-catalog',
      /^catalogs\[\d+\] opens/,
    ],
  ])('report %s', (_name, change, code, message) => {
    const [finding] = findingsOf({ ...rules, ...change }, SETTINGS);
    expect(finding).toMatchObject({ code, severity: 'error' });
    expect(finding?.message).toMatch(message);
  });

  it('let be what gives nothing: a denial of the metadata catalog, a rule that another one has decided', () => {
    const catalogs: RulesDocument['catalogs'] = [
      { catalog: 'grantline', allow: 'none' },
      ...rules.catalogs.slice(0, -1),
      { user: 'ana', catalog: 'grantline', allow: 'all' },
    ];
    expect(findingsOf({ ...rules, catalogs }, SETTINGS)).toEqual([]);
  });

  it('report a rule once, however many tables it decides', () => {
    const tables: RulesDocument['tables'] = [{ catalog: 'lake', table: 'a|b|c', privileges: [] }, ...rules.tables];
    expect(findingsOf({ ...rules, tables }, SETTINGS)).toHaveLength(1);
  });
});

function not<Rule extends { user?: string }>(user: string, list: readonly Rule[]): Rule[] {
  return list.filter((rule) => rule.user !== user && rule.user !== undefined);
}

function findingsOf(document: RulesDocument, settings: InvariantSettings): Finding[] {
  const users = new UserUniverse(settings.serviceAccounts, [document]);
  return checkInvariants(new EngineSets(document, new PatternCache(), users), settings);
}
