import { Link } from 'wouter';
import { usePolicies } from '../api/entries.js';
import { listText } from '../domain/count-text.js';
import { ENTRY_FILTERS, entryQueryOf } from '../parts/entry-filters.js';
import { FilterBar } from '../parts/filter-bar.js';
import { useFilters } from '../parts/filters.js';
import { Icon } from '../parts/icon.js';
import { Empty, PageHead } from '../parts/page.js';
import { PolicyTable } from '../parts/policies.js';

/** All policies, by filters. */
export function Policies() {
  const { asked } = useFilters(ENTRY_FILTERS);
  const list = usePolicies(entryQueryOf(asked));
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead
          title="Policies"
          actions={
            <Link className="button button--primary" href="/policies/new">
              <Icon name="plus" />
              New policy
            </Link>
          }
        >
          What takes from grants: rows that are filtered, columns that are masked or hidden, and denies.
        </PageHead>
        <FilterBar placeholder="Search policies" filters={ENTRY_FILTERS}>
          {listText(list, 'policy', 'policies')}
        </FilterBar>
        <PolicyTable list={list} empty={<NoPolicies isFiltered={Object.keys(asked).length > 0} />} />
      </div>
    </main>
  );
}

function NoPolicies({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No policy matches">Remove a filter, or search for something else.</Empty>
  ) : (
    <Empty title="No policy yet">Grants give all rows and columns of what they name.</Empty>
  );
}
