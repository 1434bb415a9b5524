import { isRepeatable, parseRefusal } from './sql-statement.js';

const invoices = { catalog: 'finance', schema: 'ledger', table: 'invoices' };

describe('a refusal of the engine', () => {
  it.each([
    ['Cannot select from table finance.ledger.invoices', 'SELECT'],
    ['Cannot select from columns [amount, state] in table or view finance.ledger.invoices', 'SELECT'],
    ['Cannot insert into table finance.ledger.invoices', 'INSERT'],
    ['Cannot delete from table finance.ledger.invoices', 'DELETE'],
    ['Cannot truncate table finance.ledger.invoices', 'DELETE'],
    ['Cannot update columns [amount] in table finance.ledger.invoices', 'UPDATE'],
    ['Cannot drop table finance.ledger.invoices', 'OWNERSHIP'],
    ['Cannot create view finance.ledger.invoices: it exists', 'OWNERSHIP'],
  ])('%s', (text, privilege) => {
    expect(parseRefusal(`Access Denied: ${text}`)).toEqual({ node: invoices, privilege });
  });

  it.each(['Access Denied: Cannot access catalog finance', "line 1:1: mismatched input 'SELEKT'"])(
    'not of a table: %s',
    (text) => expect(parseRefusal(text)).toBeNull(),
  );
});

it.each([
  'SELECT 1',
  '-- twice\n/* a */ (select 1)',
  'WITH a AS (SELECT 1) TABLE a',
  'EXPLAIN DELETE FROM t',
  'desc t',
])('may run again: %j', (sql) => expect(isRepeatable(sql)).toBe(true));

it.each(['INSERT INTO t SELECT 1', '/* SELECT */ DELETE FROM t', 'EXPLAIN  ANALYZE DELETE FROM t', 'selection', ''])(
  'may not run again: %j',
  (sql) => expect(isRepeatable(sql)).toBe(false),
);
