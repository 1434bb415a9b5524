import { diffAccess } from '../../trino-rules/diff/access-diff.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { withComparableFilters } from '../../trino-rules/engine/schema-tables.js';

const filtered = (filter: string): RulesDocument => ({
  ...NO_RULES,
  catalogs: [{ allow: 'all' }],
  tables: [{ user: 'ana', catalog: 'sales', schema: 'eu', table: 'orders', privileges: ['SELECT'], filter }],
});
const changed = (before: string, after: string): string[] => {
  const { gained, lost } = diffAccess(withComparableFilters(filtered(before)), withComparableFilters(filtered(after)));
  return [...gained, ...lost].map(({ fact }) => ('expression' in fact ? fact.expression : fact.about));
};

describe('a filter in the place of another one', () => {
  it.each([
    ["region = 'EU'", "(region = 'EU')"],
    ['(a) AND (b)', '(b) AND (a)'],
    ['(a = (1))', 'a = (1)'],
  ])('is no change where they admit the same rows: %s, %s', (before, after) => {
    expect(changed(before, after)).toEqual([]);
  });

  it.each([
    ['another expression', 'a', '(b)', ['(a)', '(b)']],
    ['one conjunct more', 'a', '(a) AND (b)', ['(b)']],
    ['parentheses that belong to two conjuncts', '(a) OR (b)', 'a) OR (b', ['((a) OR (b))', '(a) OR (b)']],
  ])('is one with %s', (_, before, after, found) => {
    expect(new Set(changed(before, after))).toEqual(new Set(found));
  });
});
