import { isRepeatable } from './statement-kind.js';

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
