import { type Branch, type TreeRow, treeRows, parseSearch, withFoundTables } from './tree-rows.js';

const branch = (names: string[] | null, unread: number | null = 0): Branch => ({
  items: names?.map((name) => ({ name, in_engine: true, grants: 0 }) as never) ?? null,
  hasMore: unread !== 0,
  unreadCount: unread,
});

const textOf = (row: TreeRow): string =>
  row.kind === 'node' ? ['/', ...row.path].join(' ') : `${row.kind} at ${row.depth}`;

/** Each row as `kind path`, by its depth. */
const shown = (open: string[], branches: Branch[]): string[] => treeRows(open, branches).map(textOf);

describe('the rows of the tree', () => {
  it('open one way down, in its place', () => {
    expect(shown(['b', 'y'], [branch(['a', 'b', 'c']), branch(['x', 'y']), branch(['t'])])).toEqual([
      '/',
      '/ a',
      '/ b',
      '/ b x',
      '/ b y',
      '/ b y t',
      '/ c',
    ]);
  });

  it('hold what is open even where it has not been read', () => {
    expect(shown(['z'], [branch(['a'], 5), branch(null)])).toEqual(['/', '/ a', '/ z', 'loading at 2', 'more at 1']);
  });

  it('say where there is nothing', () => {
    expect(shown(['a'], [branch(['a']), branch([])])).toEqual(['/', '/ a', 'none at 2']);
    expect(treeRows([], [branch(['a'], null)]).at(-1)).toEqual({ kind: 'more', depth: 1, count: null });
  });

  it('hold tables that were found in schemas that are not open', () => {
    const found = [
      ['x', 't1'],
      ['z', 't1'],
      ['z', 't2'],
    ].map(([schema, name]) => ({ schema, name }) as never);
    const rows = treeRows(['b'], [branch(['a', 'b', 'c']), branch(['x'])]);
    expect(withFoundTables(rows, 'b', found).map(textOf)).toEqual([
      '/',
      '/ a',
      '/ b',
      '/ b x',
      '/ b x t1',
      '/ b z',
      '/ b z t1',
      '/ b z t2',
      '/ c',
    ]);
    const none = treeRows(['b'], [branch(['b']), branch([])]);
    expect(withFoundTables(none, 'b', []).map(textOf)).toEqual(['/', '/ b', 'none at 2']);
    expect(withFoundTables(none, 'b', found.slice(0, 1)).map(textOf)).toEqual(['/', '/ b', '/ b x', '/ b x t1']);
  });
});

describe('a search of the tree', () => {
  it.each([
    [['lake'], 'ord', ['lake'], 'ord'],
    [['lake', 'raw', 'events'], 'ord', ['lake', 'raw'], 'ord'],
    [[], 'sales.', ['sales'], ''],
    [['lake', 'raw'], 'sales.eu.ord', ['sales', 'eu'], 'ord'],
    [['lake'], '.ord', ['lake'], '.ord'],
    [['lake'], 'a.b.c.d', ['lake'], 'a.b.c.d'],
    [[], '', [], ''],
  ])('at %j for %j', (open, text, under, namePart) => {
    expect(parseSearch(open, text)).toEqual({ parentPath: under, namePart });
  });
});
