import { accessWaysOf, addressOfNode, nearestEntries, pathText, sqlPath, wayKey } from './node-path.js';

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

const group = { id: 3, name: 'analysts' };
const via = (level: 'everything' | 'catalog' | 'schema' | 'table', part: object = {}) => ({
  grant_id: 1,
  group: null,
  level,
  expires_at: null,
  is_for_everyone: false,
  ...part,
});

describe('the ways of a holder', () => {
  it('say from which node above they come', () => {
    const ways = accessWaysOf([via('everything'), via('catalog'), via('schema'), via('table')], {
      catalog: 'sales',
      schema: 'eu',
      table: 'orders',
    });
    expect(ways.map(({ inheritedFrom }) => inheritedFrom)).toEqual([
      {},
      { catalog: 'sales' },
      { catalog: 'sales', schema: 'eu' },
      null,
    ]);
  });

  it('say through what', () => {
    const ways = accessWaysOf([via('catalog', { group }), via('catalog', { is_for_everyone: true }), via('catalog')], {
      catalog: 'sales',
    });
    expect(ways.map(({ through, inheritedFrom }) => [through, inheritedFrom])).toEqual([
      [{ group }, null],
      ['everyone', null],
      ['directly', null],
    ]);
  });

  it('have a key in the address', () => {
    expect([wayKey({ group }), wayKey({ group: null })]).toEqual(['group:3', 'directly']);
  });
});
