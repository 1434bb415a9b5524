import type { ListedUser } from '../../src/rules-files/foreign/audiences.js';
import { imported } from './imported.js';

const OPEN = { catalogs: [{ allow: 'all' }], schemas: [], queries: [{ allow: ['execute'] }] };
const READING = { privileges: ['SELECT'] };
const WRITING = { privileges: ['SELECT', 'INSERT'] };
const STAFF = [{ name: 'ana', groups: ['staff'] }, 'ben'];

/** The findings about names and groups that the list lacks. */
const withheld = (rules: object, ...users: (string | ListedUser)[]) =>
  imported(JSON.stringify({ ...OPEN, ...rules }), users).findings.flatMap(({ code, severity, what, rule }) =>
    code === 'import-newcomers' ? [`${severity}: ${rule ?? ''} ${what.join()}`] : [],
  );

describe('the import of rules that keep something from names that the list lacks', () => {
  it('says from whom no import keeps anything, as the list has neither name nor group', () => {
    const finance = { catalog: 'finance', allow: 'none' };
    const rules = {
      catalogs: [
        { user: '.*@partner[.]com', ...finance },
        { user: 'mallory', group: 'staff', ...finance },
        { group: 'interns|staff', catalog: 'hr', allow: 'none' },
        { catalog: 'finance|hr', allow: 'read-only' },
        { user: 'trent', catalog: 'finance', allow: 'none' },
      ],
      tables: [{ privileges: ['SELECT'] }],
    };
    const keeps = (names: string) => [`error: catalogs[0] what rules keep from ${names}`];
    expect(withheld(rules, { name: 'ana', groups: ['staff'] })).toEqual(keeps('.*@partner[.]com, interns, mallory'));
    const users = [{ name: 'ben@partner.com', groups: ['interns', 'staff'] }, 'mallory'];
    expect(withheld(rules, ...users)).toEqual(keeps('.*@partner[.]com'));
  });

  it.each<[string, object[], object[]]>([
    ['all privileges', [{ user: 'g.*', privileges: [] }], [WRITING]],
    ['some privileges', [{ user: 'g.*', ...READING }], [WRITING]],
    ['what a group of the list has', [{ user: 'g.*', ...READING }], [{ group: 'staff', ...WRITING }]],
  ])('reports a rule that withholds %s', (_, [rule], others) => {
    expect(withheld({ tables: [rule, ...others] }, ...STAFF)).toEqual(['error: tables[0] what rules keep from g.*']);
  });

  it('reports rules that withhold a part of what catalogs and queries have', () => {
    const users = { user: 'guest|gus' };
    const catalogs = [{ ...users, allow: 'read-only' }, { allow: 'all' }];
    const queries = [{ ...users, allow: ['execute'] }, { allow: ['execute', 'kill'] }];
    const tables = [READING];
    const text = (section: string) => [`error: ${section}[0] what rules keep from guest, gus`];
    expect(withheld({ catalogs, tables }, ...STAFF)).toEqual(text('catalogs'));
    expect(withheld({ queries, tables }, ...STAFF)).toEqual(text('queries'));
  });

  it('reports a pattern of groups that may match others than those of the list', () => {
    const tables = [{ group: '(?!staff$).*', privileges: [] }, READING];
    expect(withheld({ tables }, ...STAFF)).toEqual(['error: tables[0] what rules keep from (?!staff$).*']);
  });

  it.each<[string, object]>([
    ['a right that contains the other', { tables: [{ user: 'g.*', privileges: ['GRANT_SELECT'] }, READING] }],
    ['more than others', { tables: [{ user: 'g.*', ...WRITING }, READING] }],
    [
      'less than single users',
      {
        tables: [
          { user: 'gus', ...READING },
          { user: 'ana|gus', ...WRITING },
        ],
      },
    ],
    [
      'less than groups without members',
      {
        tables: [
          { group: 'x', ...READING },
          { group: 'y', ...WRITING },
        ],
      },
    ],
    [
      'no right to execute, about queries of others',
      { queries: [{ user: 'g', queryOwner: 'ana', allow: ['view'] }, ...OPEN.queries], tables: [READING] },
    ],
  ])('reports no rule that gives %s', (_, rules) => {
    expect(withheld(rules, ...STAFF)).toEqual([]);
  });

  it('reports the names to which a rule for all others gives nothing', () => {
    const withheldBy = (rule: object, ...users: (string | ListedUser)[]) =>
      withheld({ tables: [{ ...READING, ...rule }] }, ...users);
    const keeps = (names: string) => [`error: tables[0] what rules keep from ${names}`];
    expect(withheldBy({ user: '(?!abe).*' }, 'zoe')).toEqual(keeps('names that (?!abe).* does not match'));
    expect(withheldBy({ user: '[^@]+' }, 'zoe')).toEqual(keeps('names that [^@]+ does not match'));
    expect(withheldBy({ user: '(?!(abe|bea)$).*' }, 'bea')).toEqual(keeps('abe'));
    expect(withheldBy({ user: '(?!(abe|bea)$).*' }, 'abe', 'bea')).toEqual([]);
    expect(withheldBy({ user: '(?!abe).*', privileges: [] }, 'zoe')).toEqual([]);
    expect(withheldBy({ group: '(?!abe).*' }, ...STAFF)).toEqual([]);
    const others = (...rules: object[]) => withheld({ tables: [{ user: '(?!abe).*', ...READING }, ...rules] }, 'zoe');
    expect(others({ user: 'zoe', ...WRITING }, READING)).toEqual([]);
    expect(others({ user: 'zoe', privileges: [] }, READING)).toHaveLength(1);
    expect(others({ table: 't', ...READING })).toHaveLength(1);
    for (const user of ['.*', '.+', 'z.*', 'zoe', '(?<=x).*']) expect(withheldBy({ user }, 'zoe')).toEqual([]);
  });
});
