import type { AccessDifference } from '../../trino-rules/diff/access-diff.js';
import { withoutEqualFilters } from './equal-filters.js';

const ORDERS = { catalog: 'sales', schema: 'eu', table: 'orders' };
const filtered = (expression: string, people: string[], resource = ORDERS): AccessDifference => ({
  fact: { about: 'row-filter', resource, expression },
  people,
  strangers: [],
});

describe('a filter in the place of another one', () => {
  it.each([
    ["region = 'EU'", "(region = 'EU')"],
    ['(a) AND (b)', '(b) AND (a)'],
    ['(a = (1))', 'a = (1)'],
  ])('is no change where they admit the same rows: %s, %s', (before, after) => {
    const diff = { gained: [filtered(before, ['ana', 'bo'])], lost: [filtered(after, ['ana', 'bo'])] };
    expect(withoutEqualFilters(diff)).toEqual({ gained: [], lost: [] });
  });

  it.each([
    ['another expression', 'a', '(b)'],
    ['one conjunct more', 'a', '(a) AND (b)'],
    ['parentheses that belong to two conjuncts', '(a) OR (b)', 'a) OR (b'],
  ])('is one with %s', (_, before, after) => {
    const diff = { gained: [filtered(before, ['ana'])], lost: [filtered(after, ['ana'])] };
    expect(withoutEqualFilters(diff)).toEqual(diff);
  });

  it('is one for those whom only one of them is about, and on another table', () => {
    const diff = { gained: [filtered('a', ['ana', 'bo'])], lost: [filtered('(a)', ['bo', 'cy'])] };
    expect(withoutEqualFilters(diff)).toEqual({ gained: [filtered('a', ['ana'])], lost: [filtered('(a)', ['cy'])] });
    const elsewhere = { gained: [filtered('a', ['ana'])], lost: [filtered('(a)', ['ana'], { ...ORDERS, table: 'x' })] };
    expect(withoutEqualFilters(elsewhere)).toEqual(elsewhere);
  });
});
