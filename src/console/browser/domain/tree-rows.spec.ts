import { type Branch, treeRows } from './tree-rows.js';

const branch = (names: string[] | null, left: number | null = 0): Branch => ({
  items: names?.map((name) => ({ name, in_engine: true, grants: 0 }) as never) ?? null,
  hasMore: left !== 0,
  left,
});

/** Each row as `kind path`, by its depth. */
const shown = (open: string[], branches: Branch[]): string[] =>
  treeRows(open, branches).map((row) =>
    row.kind === 'node' ? ['/', ...row.names].join(' ') : `${row.kind} at ${row.depth}`,
  );

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
});
