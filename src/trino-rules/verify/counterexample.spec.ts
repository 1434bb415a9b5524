import { proveRules } from '../../../test/support/rules/prove-rules.js';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { STORAGE_COLUMNS } from '../model/restrictions.js';
import { compile } from '../compile/compile.js';
import type { ColumnRule, RulesDocument, TableRule, SystemSessionPropertyRule } from '../document/rules-document.js';

/** Ana reads a filtered, masked table, which bo also fills; the others may do more, elsewhere, or nothing. */
const snapshot = aSnapshot()
  .group('readers', ['ana', 'bo'])
  .may('SELECT', 'sales.eu.orders')
  .seesOnly('sales.eu.orders', "region = 'EU'")
  .seesMasked('sales.eu.orders', 'card', 'NULL', { type: 'user', id: 2 })
  .doesNotSee('sales.eu.orders', 'email')
  .group('writers', ['bo', 'cy'])
  .may('INSERT', 'sales.eu.orders')
  .user('cy')
  .may('INSERT, SELECT', 'sales.us')
  .mayNot('sales.us.salaries', 'SELECT')
  .user('dee')
  .may('SELECT', 'hr', { expiresAt: new Date(0) })
  .deactivated('eve')
  .engine('etl.1')
  .may('SELECT', 'sales.us.orders')
  .user('cy')
  .may('OWNERSHIP', 'sales.jp')
  .snapshot();

const where = { catalog: 'sales', schema: 'us|eu', table: 'orders|extra' };
const product: TableRule = { user: 'etl[.]1', ...where, privileges: ['SELECT'] };

describe('a counterexample', () => {
  it.each<[string, (rules: RulesDocument) => RulesDocument, RegExp]>([
    [
      'a rule too few',
      table('ana', () => []),
      /^ana may SELECT from sales[.]eu[.]orders by grant 1 \(group readers\), but no rule gives it/,
    ],
    [
      'a privilege too many',
      table('bo', (rule) => [{ ...rule, privileges: ['SELECT', 'INSERT', 'DELETE'] }]),
      /^bo may not DELETE from sales[.]eu[.]orders \(no grant gives it\), but rule tables\[\d+\] gives it/,
    ],
    [
      'no row filter',
      table('ana', lose('filter')),
      /^ana may SELECT only those rows of sales[.]eu[.]orders for which \(region = 'EU'\) by policy 1, but rule tables/,
    ],
    [
      'another row filter',
      table('ana', (rule) => [{ ...rule, filter: 'year = 1' }]),
      /^by rule tables\[\d+\] ana may SELECT only those rows .* for which year = 1, but no policy says so/m,
    ],
    [
      'no mask',
      table('ana', columns({ name: 'email', allow: false })),
      /^ana may SELECT the column card of sales[.]eu[.]orders only as NULL by policy 2, but rule/,
    ],
    [
      'another mask',
      table('ana', columns({ name: 'email', allow: false }, { name: 'card', mask: '0' })),
      /^by rule .* ana may SELECT the column card of sales[.]eu[.]orders only as 0/m,
    ],
    [
      'a column that is not hidden',
      table('ana', columns({ name: 'card', mask: 'NULL' })),
      /^ana may not SELECT the column email of sales[.]eu[.]orders by policy 3, but rule/,
    ],
    [
      'a schema too many',
      table('cy', lose('schema')),
      /^cy may not .* sales[.]\(any other schema\)[.]\(any other table\)/m,
    ],
    [
      'a table too many',
      table('etl', lose('table')),
      /^etl[.]1 may not SELECT from sales[.]us[.]\(any other table\) \(no grant gives it\)/m,
    ],
    [
      'what a deny takes',
      (rules) => ({ ...rules, tables: rules.tables.filter(({ table = '' }) => !table.startsWith('salaries')) }),
      /^cy may not SELECT from sales[.]us[.]salaries \(deny 4 takes it\)/m,
    ],
    ['a product of schemas and tables', first('tables', product), /^etl[.]1 may not SELECT from sales[.]eu[.]extra/m],
    [
      'an unused name',
      first('queries', { user: 'anna', allow: ['execute'] }),
      /^anna may not execute queries \(no grant means anybody of that name\)/,
    ],
    [
      'a user without access',
      first('queries', { user: 'dee', allow: ['execute'] }),
      /^dee may not execute queries \(only those who reach something/,
    ],
    [
      'a deactivated user',
      first('queries', { user: 'eve', allow: ['execute'] }),
      /^eve may not execute queries \(the account is deactivated\)/,
    ],
    ['strangers', first('queries', { allow: ['execute'] }), /^dee \(and 2 more\) may not execute queries/],
    [
      "other people's queries",
      first('queries', { user: 'ana', allow: ['execute', 'kill'] }),
      /^ana may not kill other people's queries .*, but rule queries\[0\] gives it/,
    ],
    [
      'no user who executes queries',
      (rules) => ({ ...rules, queries: [] }),
      /^ana \(and 4 more\) may execute queries, but no rule gives it/,
    ],
    [
      'a catalog in the wrong mode',
      first('catalogs', { user: 'ana', catalog: 'sales', allow: 'all' }),
      /^ana .*may not enter the catalog sales in the mode all/,
    ],
    [
      'a closed catalog',
      first('catalogs', { user: 'bo', catalog: 'sales', allow: 'none' }),
      /^bo may INSERT into sales[.]eu[.]orders by grant 2 \(group writers\), but rule catalogs\[\d+\] lets bo into the catalog in the mode none/m,
    ],
    [
      'system open at its end',
      (rules) => ({ ...rules, catalogs: rules.catalogs.slice(0, -1) }),
      /^dee .*may not enter the catalog system in the mode all .*, but the engine itself gives it/,
    ],
    [
      'system tables that are closed',
      (rules) => ({ ...rules, tables: rules.tables.filter(({ catalog }) => catalog !== 'system') }),
      /^ana \(and 4 more\) may SELECT from system[.]jdbc[.]\(any other table\) like everybody who reaches something/m,
    ],
    [
      'system tables that are open',
      first('tables', { user: 'ana', catalog: 'system', privileges: ['SELECT'] }),
      /^ana may not SELECT from system[.]\(any other schema\)/m,
    ],
    [
      'no schema owner',
      (rules) => ({ ...rules, schemas: [] }),
      /^cy may have OWNERSHIP of the schema sales[.]jp by grant 6, but no rule gives it/m,
    ],
    [
      'a schema owner too many',
      first('schemas', { catalog: 'sales', owner: true }),
      /^bo .*may not have OWNERSHIP of the schema sales[.]eu/m,
    ],
    [
      'a service account without a catalog',
      table('service', () => []),
      /^service-account-grantline may SELECT from lake[.].* as a service account, but no rule/m,
    ],
    [
      'one user to impersonate',
      first('impersonation', { original_user: 'ana', new_user: 'bo', allow: true }),
      /^ana may not impersonate bo .*, but rule impersonation\[0\] gives it/,
    ],
    [
      'any user to impersonate',
      first('impersonation', { original_user: 'service-account-grantline', new_user: 'dee', allow: true }),
      /^service-account-grantline may not impersonate dee/m,
    ],
    [
      'no user to impersonate',
      (rules) => ({ ...rules, impersonation: [] }),
      /^service-account-grantline may impersonate ana, but no rule/,
    ],
    [
      'a table function',
      first('functions', {
        user: 'ana',
        catalog: 'sales',
        schema: 'system',
        function: 'query',
        privileges: ['EXECUTE'],
      }),
      /^ana may not EXECUTE the function sales[.]system[.]query \(no grant gives it\)/,
    ],
    [
      'procedures',
      first('procedures', { privileges: ['GRANT_EXECUTE'] }),
      /may not have GRANT_EXECUTE on the procedure sales[.]\(any other schema\)[.]\(any other routine\)/m,
    ],
    [
      'a property of the session',
      (rules) => behindMarker(rules, { user: 'ana', property: 'x', allow: true }),
      /^ana may not SET SESSION x \(the settings do not say so\)/,
    ],
    [
      'the marker for all users',
      (rules) => ({
        ...rules,
        system_session_properties: [
          { property: 'grantline_rules_0', allow: true },
          ...rules.system_session_properties.slice(1),
        ],
      }),
      /may not SET SESSION grantline_rules_0/,
    ],
    [
      'a property of a catalog',
      first('catalog_session_properties', { user: 'ana', allow: true }),
      /^ana may not SET SESSION sales[.]\(any other property\)/m,
    ],
    [
      'system information',
      first('system_information', { allow: ['write'] }),
      /^ana.* may not write system information \(no grant gives it\)/m,
    ],
  ])('reports %s', (_name, change, message) => {
    const findings = judged(change);

    expect(findings[0]).toMatchObject({ code: 'proof-difference', severity: 'error' });
    expect(findings.map((finding) => finding.message).join('\n')).toMatch(message);
  });

  it('counts the differences that it does not list', () => {
    const findings = judged((rules) => ({
      ...rules,
      catalogs: [{ allow: 'all' }],
      tables: [{ privileges: ['SELECT'] }],
    }));
    expect(findings).toHaveLength(21);
    expect(findings.at(-1)?.message).toMatch(/^\d+ more differences between the rules and the grants are not listed$/);
  });
});

/** The marker and its denial come first, or nothing is proved. */
function behindMarker(rules: RulesDocument, rule: SystemSessionPropertyRule): RulesDocument {
  const [marker, denial, ...others] = rules.system_session_properties;
  const first = [marker, denial].filter((each) => each !== undefined);
  return { ...rules, system_session_properties: [...first, rule, ...others] };
}

function judged(change: (rules: RulesDocument) => RulesDocument) {
  return proveRules(change(compile(snapshot).document), snapshot);
}

/** Changes the rules of tables in sales that name a user. */
function table(user: string, change: (rule: TableRule) => TableRule[]): (rules: RulesDocument) => RulesDocument {
  const isAsked = (rule: TableRule): boolean => rule.user?.includes(user) === true && rule.catalog !== 'system';
  return (rules) => ({ ...rules, tables: rules.tables.flatMap((rule) => (isAsked(rule) ? change(rule) : [rule])) });
}

function lose(key: string): (rule: TableRule) => TableRule[] {
  return (rule) => {
    const left = { ...rule };
    Reflect.deleteProperty(left, key);
    return [left];
  };
}

function columns(...columns: ColumnRule[]): (rule: TableRule) => TableRule[] {
  const storage = STORAGE_COLUMNS.map((name) => ({ name, allow: false }));
  return (rule) => [{ ...rule, columns: [...storage, ...columns] }];
}

function first<Name extends keyof RulesDocument>(section: Name, rule: RulesDocument[Name][number]) {
  return (rules: RulesDocument): RulesDocument => ({ ...rules, [section]: [rule, ...rules[section]] });
}
