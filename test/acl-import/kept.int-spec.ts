import { type Kind, keptDifferences, wholeness } from './kept-differences.js';
import { keptCases } from './published-cases.js';

/** What each file gives otherwise than its import. */
const DIFFERENCES: Record<string, readonly Kind[]> = {
  'all-but-salaries': ['enters a catalog', 'more: kill_query', 'names that the listing lacks'],
  'catalogs-section-only': ['more: enters system', 'more: kill_query'],
  'closed-for-the-rest': [],
  'config-map-from-helm': ['more: kill_query'],
  'dashboards-as-their-viewers': ['enters system', 'queries of some', 'users that the list lacks'],
  'developers-own-dev-schemas': ['more: kill_query', 'names that the listing lacks'],
  'exceptions-first': ['enters a catalog', 'enters system', 'names that the listing lacks'],
  'groups-nobody-is-in': ['more: kill_query'],
  'grown-over-years': ['enters system'],
  'help-desk-kills-queries': ['enters system', 'queries of some', 'users that the list lacks'],
  'maintenance-procedures': ['enters a catalog', 'more: kill_query', 'names that the listing lacks'],
  'masked-customers': ['more: kill_query'],
  'monitoring-reads-system': ['enters a catalog', 'part of a schema of system'],
  'no-system-for-guests': ['enters a catalog', 'more: kill_query', 'names that the listing lacks', 'writes in system'],
  'one-administrator': ['more: kill_query', 'writes in system'],
  'pass-through-queries': ['enters a catalog', 'enters system', 'functions in views for others'],
  'personal-schemas': ['more: kill_query'],
  'platform-team-has-all': ['enters system', 'more: kill_query', 'writes in system'],
  'queries-section-only': ['more: kill_query', 'writes in system'],
  'read-everything': ['more: kill_query'],
  'rows-by-current-user': ['a filter as another user', 'more: kill_query'],
  'schema-owner-is-no-table-owner': ['enters system'],
  'service-accounts-by-prefix': ['enters system', 'users that the list lacks'],
  'session-properties-by-team': ['more: kill_query'],
  'single-sign-on-principals': ['more: kill_query'],
  'teams-with-scratch': ['more: kill_query', 'part of a schema of system'],
  'two-tenants': ['enters a catalog', 'names that the listing lacks', 'queries of some', 'users that the list lacks'],
  'views-for-others': ['functions in views for others', 'more: kill_query', 'names that the listing lacks'],
};

describe('the import of rules files as people keep them', () => {
  it.each(keptCases())('changes no answers but those that are listed here: $name', async (kept) => {
    const { asked, kinds, examples } = await keptDifferences(kept);
    expect({ kinds, examples }).toEqual({ kinds: DIFFERENCES[kept.name], examples });
    expect(kinds).not.toContain('more: access');
    expect(asked).toBeGreaterThan(1_000);
  });

  it('takes over most of them whole', () => {
    const counts: Record<string, number> = {};
    for (const kinds of Object.values(DIFFERENCES)) counts[wholeness(kinds)] = (counts[wholeness(kinds)] ?? 0) + 1;
    expect(counts).toEqual({ equal: 1, whole: 13, 'whole today': 6, 'in part': 8 });
    expect(Object.keys(DIFFERENCES)).toEqual(keptCases().map(({ name }) => name));
  });
});
