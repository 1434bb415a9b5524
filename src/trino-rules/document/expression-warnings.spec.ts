import { expressionWarnings } from './expression-warnings.js';

const warningsOf = (kind: string, expression: string) => expressionWarnings({ kind, expression });

describe('a row filter that becomes a join is told with the safe form', () => {
  it.each([
    ['IN', 'region IN (SELECT region FROM ref.m WHERE who = current_user)'],
    ['IN', 'a = 1 OR (region in(select r from m))'],
    ['IN', 'region /* or */ IN -- here\n (VALUES 1, 2)'],
    ['IN', 'region IN ((SELECT a FROM m) UNION (SELECT b FROM n))'],
    ['NOT IN', 'region NOT IN (WITH x AS (SELECT 1) SELECT * FROM x)'],
    ['= ANY', 'region = ANY (SELECT region FROM m)'],
    ['<> ALL', 'region <> ALL (TABLE m)'],
    ['>= SOME', 'amount >= SOME (SELECT amount FROM m)'],
    ['EXISTS', 'EXISTS (SELECT 1 FROM m WHERE m.id = 1)'],
    ['EXISTS', 'NOT EXISTS (SELECT 1 FROM m)'],
    ['a sub-query with np.…', '(SELECT count(*) FROM m a WHERE a.region = np.region) > 0'],
    ['a sub-query with np.…', '(SELECT count(*) FROM ref.eu.m JOIN n ON n.id = "NP".id) > 0'],
    ['a sub-query with sales.…', '(SELECT max(x) FROM m, n WHERE extract(YEAR FROM sales.eu.t.at) = m.y) = 1'],
    ['a sub-query with o.…', '(SELECT max(v) FROM m, UNNEST(o.list) AS u(v)) = 1'],
    ['a sub-query with o.…', '(SELECT max(x) FROM m WHERE y IS DISTINCT FROM o.y) = 1'],
  ])('%s: %s', (part, filter) => {
    const [leak = '', ...others] = warningsOf('row_filter', filter);
    expect(leak).toContain(`${part}${part.startsWith('a ') ? ', which its FROM' : ' (SELECT …) makes'}`);
    expect(leak).toContain('contains((SELECT array_agg(x) …), column)');
    expect(others).toEqual([]);
    expect(warningsOf('column_mask', filter)).toEqual([]);
  });

  it.each([
    "region IN ('EU', 'US')",
    "region IN ((SELECT max(r) FROM m), 'EU')",
    'region = \'x IN (SELECT 1)\' AND "in (select 1)" = 1 -- IN (SELECT 1)',
    'contains((SELECT array_agg(r) FROM m), region)',
    'contains((SELECT array_agg(r) FROM m WHERE y IN (SELECT z FROM n WHERE EXISTS (SELECT 1 FROM o))), region)',
    'region = (SELECT min(m.region) FROM ref.eu.m) AND (SELECT count(*) FROM ref.m AS a WHERE ref.m.x = a.y) > 0',
    '(SELECT max(b.x) FROM (m AS a JOIN (n b CROSS JOIN o) ON a.id = b.id), (SELECT 1 AS i) AS c WHERE c.i = o.id) = 1',
    '(SELECT max(t.x) FROM TABLE(sequence(1, 2)) AS t) = 1 AND (SELECT 1.5 FROM m) = 1',
    '(SELECT transform(array_agg(x), r -> r.name) FROM m WHERE hr.public.f(x)) = ARRAY[]',
    'np.region = 1 AND count(ALL x) = any_match(y, z -> z.a)',
    "'unclosed",
  ])('not: %s', (filter) => expect(warningsOf('row_filter', filter)).toEqual([]));
});

it.each(['row_filter', 'column_mask'])('a %s that asks for the groups of the engine is told', (kind) => {
  const [warning = '', ...others] = warningsOf(kind, "contains(Current_Groups (), access) OR access = 'public'");
  expect(warning).toContain('without a provider it is empty');
  expect(others).toEqual([]);
  expect(warningsOf(kind, "current_groups = 'current_groups()' AND current_user = 'a'")).toEqual([]);
});
