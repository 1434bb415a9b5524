import fc from 'fast-check';
import { rowFilterOf } from '../../../test/support/rules/table-limits.js';
import {
  type CatalogRule,
  type ColumnRule,
  NO_RULES,
  type RulesDocument,
  type TablePrivilege,
} from '../../trino-rules/document/rules-document.js';
import { Evaluator, hidesColumn } from '../../trino-rules/engine/evaluator.js';
import type { PlacedFinding } from './checks.js';
import { loopholeFindings } from './loopholes.js';
import { readLeniently } from './lenient-reader.js';

const NO_SETTINGS = { serviceAccounts: [], writableCatalogs: [], readableCatalogs: [], metadataCatalog: null };

function doors(
  sections: object,
  settings: object = {},
): Pick<PlacedFinding, 'code' | 'message' | 'rule' | 'witness'>[] {
  const { rules } = readLeniently(JSON.stringify(sections));
  const found = loopholeFindings(rules ?? new Map(), { ...NO_SETTINGS, ...settings }, 0);
  return found.filter(({ code }) => code !== 'rules-listings-closed');
}

const SALARIES = { user: 'ana|ben', catalog: 'lake', schema: 'hr', table: 'salaries|bonus' };
const READ = { privileges: ['SELECT'], filter: 'true' };
const CLOSED_STORAGE = ['$path', '$partition', '$bucket'].map((name) => ({ name, allow: false }));

describe('doors that rules leave open', () => {
  it('are told with a person, a table, how many are alike, the statement and the rule', () => {
    const tables = [
      { ...SALARIES, privileges: [] },
      { catalog: 'lake', ...READ },
    ];
    expect(doors({ tables })).toEqual([
      {
        code: 'door-companion',
        message: 'tables[0] closes a table whose companions stay open',
        at: 11,
        rule: 'tables[0]',
        witness:
          'ana on lake.hr.salaries (and 1 more person and 1 more table): SELECT * FROM lake.hr."salaries$files", by tables[1] ' +
          '{"catalog":"lake","privileges":["SELECT"],"filter":"true"}',
      },
    ]);
  });

  it('are of every companion, also where rules close some by name', () => {
    const some = { ...SALARIES, table: 'salaries([$](files|partitions))?', privileges: [] };
    expect(doors({ tables: [some, { catalog: 'lake', ...READ }] })).toMatchObject([
      { code: 'door-companion', witness: expect.stringContaining('lake.hr."salaries$entries"') as string },
    ]);
    const all = { ...SALARIES, table: 'salaries([$].*)?', privileges: [] };
    expect(doors({ tables: [all, { catalog: 'lake', ...READ }] })).toEqual([]);
  });

  it('are of files only in catalogs that are listed, for owners whom something there restricts', () => {
    const own = { user: 'ana|cy', catalog: 'lake|erp', schema: 'lab', privileges: ['SELECT', 'OWNERSHIP'] };
    const tables = [
      { ...SALARIES, table: 'salaries([$].*)?', privileges: [] },
      own,
      { catalog: 'lake', schema: 'hr', ...READ },
    ];
    expect(doors({ tables })).toEqual([]);
    expect(doors({ tables }, { externalTableCatalogs: ['lake', 'erp'] })).toMatchObject([
      {
        code: 'door-files',
        rule: 'tables[1]',
        witness: expect.stringMatching(/^ana on lake.*, by tables\[0\]/) as unknown,
      },
    ]);
    expect(doors({ tables: [own, { privileges: [] }] }, { externalTableCatalogs: ['lake'] })).toEqual([]);
  });

  it('are of raw columns only in catalogs that are listed', () => {
    const columns = [{ name: 'ssn', allow: false }, ...CLOSED_STORAGE];
    const tables = [
      { catalog: 'events', table: '.*[$].*', privileges: [] },
      { catalog: 'events', ...READ, columns },
    ];
    expect(doors({ tables })).toEqual([]);
    expect(doors({ tables }, { rawColumnCatalogs: ['events'] })).toMatchObject([
      { code: 'door-storage-column', witness: expect.stringContaining('SELECT "_message", "_key"') as unknown },
    ]);
  });

  it('are of procedures beside masks where tables may lack the masked column', () => {
    const columns = [{ name: 'ssn', mask: 'NULL' }, ...CLOSED_STORAGE];
    const rule = { user: 'ana', catalog: 'lake', schema: 'hr', privileges: ['SELECT'], columns };
    const companions = { table: '.*[$].*', privileges: [] };
    expect(doors({ tables: [companions, rule] })).toMatchObject([
      {
        code: 'door-procedure',
        message: expect.stringContaining('tables without the masked columns') as unknown,
        witness: expect.stringContaining('ALTER TABLE lake.hr.any_table EXECUTE') as unknown,
      },
    ]);
    expect(doors({ tables: [companions, { ...rule, table: 'visits|stays' }] })).toEqual([]);
  });

  it('are one finding for all rules that give reading alone, with their number and the first places', () => {
    const tables = Array.from({ length: 25 }, (_, i) => ({ schema: `s${i}`, privileges: ['SELECT'] }));
    const endOf = (count: number) =>
      doors({ tables: tables.slice(0, count) }).map(({ message }) => message.split('; ')[1]);
    expect(endOf(1)).toEqual([undefined]);
    expect(endOf(2)).toEqual(['so does 1 more rule (tables[1])']);
    expect(endOf(5)).toEqual(['so do 4 more rules (tables[1], tables[2], tables[3], tables[4])']);
    expect(endOf(20)).toEqual(['so do 19 more rules (tables[1], tables[2], tables[3], tables[4], …)']);
    expect(endOf(25)).toEqual(['so do up to 24 more rules (tables[1], tables[2], tables[3], tables[4], …)']);
  });

  it('are told as not found out where the rules are too many', () => {
    expect(doors({ tables: [{ user: 'a'.repeat(3_000_001), privileges: [] }] })).toMatchObject([
      { code: 'door-undecided' },
    ]);
  });

  it('are found out where thousands of rules are for single users', () => {
    const rules = Array.from({ length: 2_500 }, (_, i) => ({ user: `u${i}`, catalog: 'lake' }));
    const catalogs = rules.map((rule) => ({ ...rule, allow: 'all' }));
    const tables = rules.map((rule) => ({ ...rule, schema: 'hr', table: 'salaries', privileges: ['SELECT'] }));
    expect(doors({ catalogs, tables })).toMatchObject([{ code: 'door-procedure' }]);
  });

  it('are what the engine lets through, and nothing else', () => {
    const counts = new Map<string, number>();
    fc.assert(
      fc.property(anySections(), (rules) => {
        const evaluator = new Evaluator({ ...NO_RULES, ...rules });
        const expected = new Set<string>();
        const add = (code: string, index: number) => expected.add(`${code} tables[${index}]`);
        const users = ['ana', 'ben', 'other'];
        const modesOf = (index: number) =>
          users
            .filter((user) => new RegExp(`^(${rules.tables[index]?.user ?? '.*'})$`).test(user))
            .map((user) => evaluator.catalogMode(user, 'c'));
        for (const user of users)
          for (const table of ['t', 'u', 'other', 't$x', 'u$x', 't$files', 'u$files', 'x$files']) {
            const at = { catalog: 'c', schema: 's', table };
            const [index, mode] = [evaluator.tableRuleIndex(user, at), evaluator.catalogMode(user, 'c')];
            const rule = index === null ? undefined : rules.tables[index];
            if (index === null || rule === undefined) continue;
            const { privileges, filter, columns = [] } = rule;
            const isShut =
              rule.user === undefined || rule.user === '.*'
                ? modesOf(index).every((each) => each === 'none')
                : mode === 'none';
            if (isShut && privileges.length > 0) add('rule-without-entry', index);
            if (mode === 'read-only' && privileges.includes('DELETE') && !modesOf(index).includes('all'))
              add('rule-read-only', index);
            if (mode === 'none') continue;
            const isLimited = filter !== undefined || columns.length > 0;
            const companions = ['files', 'partitions'].map((suffix) => ({ ...at, table: `${table}$${suffix}` }));
            const isOpen =
              !table.includes('$') &&
              companions.some(
                (each) =>
                  evaluator.hasTablePrivilege(user, 'SELECT', each) && rowFilterOf(evaluator, user, each) === null,
              );
            if (isOpen && (isLimited || !privileges.includes('SELECT'))) add('door-companion', index);
            const isMasked = columns.some(({ mask }) => mask !== undefined);
            if (mode === 'all' && privileges.includes('DELETE') && (filter !== undefined || isMasked))
              add('door-truncate', index);
            if (!privileges.includes('SELECT')) continue;
            if (columns.length > 0 && !hidesColumn(rule, '$path')) add('door-storage-column', index);
            // A table that a rule names has the column that the rule masks: the engine refuses procedures there.
            const mayLackColumn = rule.table === undefined || rule.table.startsWith('.*');
            if (!privileges.includes('DELETE') && filter === undefined && (!isMasked || mayLackColumn))
              add('door-procedure', index);
          }
        for (const each of expected) {
          const [code = ''] = each.split(' ');
          counts.set(code, (counts.get(code) ?? 0) + 1);
        }
        const found = doors(rules).flatMap(({ code, rule, message }) => {
          const places = code === 'door-procedure' ? (message.match(/tables\[\d+\]/g) ?? []) : [rule];
          return places.map((place) => `${code} ${place ?? ''}`);
        });
        expect(found.sort()).toEqual([...expected].sort());
      }),
      { numRuns: 600 },
    );
    expect(counts.size).toBe(6);
  });
});

/** Rules about the catalog c, by patterns that close some doors and leave others open. */
function anySections(): fc.Arbitrary<Pick<RulesDocument, 'catalogs' | 'tables'>> {
  const user = fc.constantFrom('ana', 'ben', 'ana|ben', '.*');
  const [hidden, masked] = [
    { name: 'ssn', allow: false },
    { name: 'ssn', mask: 'NULL' },
  ];
  const table = fc.record(
    {
      user,
      table: fc.constantFrom('t', 'u', 't|u', 't([$].*)?', '.*[$].*', 't[$].*', '.*[$]files'),
      privileges: fc.constantFrom<TablePrivilege[]>([], ['SELECT'], ['SELECT', 'DELETE'], ['DELETE']),
      filter: fc.constant('a = 1'),
      columns: fc.constantFrom<ColumnRule[]>(
        [hidden],
        [masked],
        [masked, ...CLOSED_STORAGE],
        [hidden, ...CLOSED_STORAGE],
      ),
    },
    { requiredKeys: ['privileges'] },
  );
  const catalog = fc.record({ user, allow: fc.constantFrom<CatalogRule['allow']>('all', 'all', 'read-only', 'none') });
  return fc.record({
    catalogs: fc.array(
      catalog.map((rule) => ({ ...rule, catalog: 'c' })),
      { minLength: 1, maxLength: 3 },
    ),
    tables: fc.array(
      table.map((rule) => ({ ...rule, catalog: 'c', schema: 's' })),
      { maxLength: 5 },
    ),
  });
}
