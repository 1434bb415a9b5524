import { brief, imported } from './imported.js';
import { snapshotText } from './published-cases.js';

describe('the import of what the engine gives beside restrictions', () => {
  it('gives no writing beside a mask, also of a hidden column', () => {
    const column = { name: 'ssn', mask: 'NULL' };
    const data = { catalog: 'sales', schema: 'eu', privileges: ['SELECT', 'INSERT', 'DELETE'] };
    const byRules = (...tables: object[]) => {
      const rules = { catalogs: [{ allow: 'all' }], schemas: [], tables, queries: [{ allow: ['execute'] }] };
      const result = imported(JSON.stringify(rules), ['ana']);
      return {
        granted: snapshotText(result.snapshot),
        writing: brief(result).filter((line) => line.includes('writing')),
      };
    };
    const { granted, writing } = byRules({ ...data, columns: [{ ...column, allow: false }] });
    expect(granted).toContain('everyone: SELECT on sales.eu\n');
    expect(writing).toEqual([
      'tables[0] import-doors ana: UPDATE and DELETE beside a row filter, all writing beside a mask',
    ]);
    const hidden = { ...data, table: 'secret_.*', columns: [{ ...column, allow: false }] };
    const other = byRules(hidden, { ...data, columns: [{ name: 'ssn', allow: false }] });
    expect(other.granted).toContain('everyone: SELECT on sales.eu\n');
  });

  it('reports companions as lost where the table itself is not restricted', () => {
    const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
    const withCompanions = { ...orders, table: 'orders([$].*)?', privileges: ['SELECT'] };
    const lostBy = (...tables: object[]) => {
      const rules = { catalogs: [{ allow: 'all' }], tables, queries: [{ allow: ['execute'] }] };
      return brief(imported(JSON.stringify(rules), ['ana', 'ben'])).filter((line) => /orders.…|companion/.test(line));
    };
    const lost = (people: string) => `import-lost ${people}: SELECT from sales.eu.orders$…`;
    const isClosed = (people: string) =>
      `import-doors ${people}: companion tables (t$files and others) of restricted tables`;
    expect(lostBy(withCompanions)).toEqual([`tables[0] ${lost('ana, ben')}`]);
    expect(lostBy(withCompanions, { privileges: [] })).toEqual([`tables[0] ${lost('ana, ben')}`]);
    for (const restriction of [{ filter: 'a = 1' }, { columns: [{ name: 'a', allow: false }] }, { privileges: [] }]) {
      const restricted = { user: 'ana', ...orders, privileges: ['SELECT'], ...restriction };
      expect(lostBy(restricted, withCompanions)).toEqual([`tables[1] ${lost('ben')}`, `tables[1] ${isClosed('ana')}`]);
    }
  });
});
