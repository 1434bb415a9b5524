import { treeSearch } from './tree-rows.js';

describe('a search of the tree', () => {
  it.each([
    [['lake'], 'ord', ['lake'], 'ord'],
    [['lake', 'raw', 'events'], 'ord', ['lake', 'raw'], 'ord'],
    [[], 'sales.', ['sales'], ''],
    [['lake', 'raw'], 'sales.eu.ord', ['sales', 'eu'], 'ord'],
    [['lake'], '.ord', ['lake'], '.ord'],
    [['lake'], 'a.b.c.d', ['lake'], 'a.b.c.d'],
    [[], '', [], ''],
  ])('at %j for %j', (open, text, under, part) => {
    expect(treeSearch(open, text)).toEqual({ under, part });
  });
});
