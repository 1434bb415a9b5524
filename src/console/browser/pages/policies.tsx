import { usePolicies } from '../api/entries.js';
import { listText } from '../domain/count-text.js';
import { ButtonLink } from '../parts/controls.js';
import { ENTRY_FILTERS, entryQueryOf, FilterBar, useFilters } from '../parts/filter-bar.js';
import { EmptyList, Page } from '../parts/page.js';
import { PolicyTable } from '../parts/policies.js';

export function Policies() {
  const { values } = useFilters(ENTRY_FILTERS);
  const list = usePolicies(entryQueryOf(values));
  return (
    <Page
      isCompact
      title="Policies"
      intro="What takes from grants: rows that are filtered, columns that are masked or hidden, and denies."
      actions={<ButtonLink text="New policy" look="primary" icon="plus" href="/policies/new" />}
    >
      <FilterBar placeholder="Search policies" filters={ENTRY_FILTERS}>
        {listText(list, 'policy', 'policies')}
      </FilterBar>
      <PolicyTable
        list={list}
        emptyState={
          <EmptyList
            filterValues={values}
            entryKind="policy"
            title="No policy yet"
            text="Grants give all rows and columns of what they name."
          />
        }
      />
    </Page>
  );
}
