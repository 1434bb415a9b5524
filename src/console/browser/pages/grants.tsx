import { useGrants, useOneGrant } from '../api/entries.js';
import { listText } from '../domain/count-text.js';
import { type Asked, ENTRY_FILTERS, entryQueryOf } from '../parts/entry-filters.js';
import { FilterBar } from '../parts/filter-bar.js';
import { type Filter, useFilters } from '../parts/filters.js';
import { GrantTable, NewGrant } from '../parts/grants.js';
import { Empty, PageHead } from '../parts/page.js';

/** The parameter of one grant, whatever else is asked. */
const GRANT = 'grant';

const FILTERS: readonly Filter[] = [
  {
    parameter: 'state',
    name: 'State',
    choices: ['live', 'expired', 'revoked', 'all'].map((value) => ({ value, text: value })),
  },
  ...ENTRY_FILTERS,
  { parameter: 'expires_before', name: 'Ends before', type: 'datetime-local' },
  { parameter: GRANT, name: 'Grant' },
];

/** All grants, by filters, and how to take one back. */
export function Grants() {
  const { asked } = useFilters(FILTERS);
  const { [GRANT]: id } = asked;
  const all = useGrants(queryOf(asked), id === undefined);
  const one = useOneGrant(id);
  const list = id === undefined ? all : one;
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead title="Grants" actions={<NewGrant isPrimary />} />
        <FilterBar placeholder="Search grants" filters={FILTERS}>
          {listText(list, 'grant')}
        </FilterBar>
        <GrantTable name="Grants" list={list} empty={<NoGrants isFiltered={Object.keys(asked).length > 0} />} />
      </div>
    </main>
  );
}

function queryOf(asked: Asked) {
  const { state, expires_before: before } = asked;
  const at = before === undefined ? null : new Date(before);
  return {
    ...entryQueryOf(asked),
    ...(state !== undefined && { state: state as 'live' }),
    ...(at !== null && !Number.isNaN(at.getTime()) && { expires_before: at.toISOString() }),
  };
}

function NoGrants({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No grant matches">Remove a filter, or search for something else.</Empty>
  ) : (
    <Empty title="No grant yet">
      Nobody may read or change anything until something is granted. Begin with New grant.
    </Empty>
  );
}
