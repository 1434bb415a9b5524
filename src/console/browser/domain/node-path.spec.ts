import { addressOfNode, nearestEntries, pathText, sqlPath } from './node-path.js';

const NODES: [object, string, string][] = [
  [{}, 'everything', '/data'],
  [{ catalog: 'sales' }, 'sales', '/data/sales'],
  [{ catalog: 'sales', schema: 'eu', table: 'a/b %' }, 'sales.eu.a/b %', '/data/sales/eu/a%2Fb%20%25'],
  [{ catalog: 'sales', schema: 'eu', routine: 'total' }, 'sales.eu.total', '/data/sales/eu'],
  [{ engine: true }, 'the engine', '/engine'],
  [{ as: { type: 'group', id: 3, name: 'viewers' } }, 'acting as viewers', '/engine'],
  [{ as: { type: 'group', id: 3 } }, 'acting as group 3', '/engine'],
  [{ as: { type: 'everyone' } }, 'acting as Everyone', '/engine'],
];

describe('a node', () => {
  it.each(NODES)('%j is called %s and has the page %s', (node, text, address) => {
    expect([pathText(node), addressOfNode(node)]).toEqual([text, address]);
  });
});

describe('a path in SQL', () => {
  it.each([
    [['sales', 'eu', 'orders_2026'], 'sales.eu.orders_2026'],
    [['sales-eu', 'a.b', 'say "no"'], '"sales-eu"."a.b"."say ""no"""'],
    [['2026', 'Orders'], '"2026"."Orders"'],
    [[], ''],
  ])('of %j', (names, text) => expect(sqlPath(names)).toBe(text));
});

const of = (...paths: string[]) =>
  paths.map((path) => {
    const [catalog = '', schema, table] = path.split('.');
    return { resource: { catalog, ...(schema !== undefined && { schema }), ...(table !== undefined && { table }) } };
  });

describe('the nearest entries', () => {
  it('share the longest path, and stand in their order otherwise', () => {
    const entries = of('hr', 'sales.us', 'sales.eu.orders', 'sales.eu', 'lake.raw');
    expect(nearestEntries({ catalog: 'sales', schema: 'eu', table: 'lines' }, entries)).toEqual(
      of('sales.eu.orders', 'sales.eu', 'sales.us', 'hr', 'lake.raw'),
    );
  });

  it('are five at most', () => {
    expect(nearestEntries({}, of('a', 'b', 'c', 'd', 'e', 'f'))).toEqual(of('a', 'b', 'c', 'd', 'e'));
  });
});
