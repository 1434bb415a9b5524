import { useGrants, useOneGrant } from '../api/entries.js';
import { listText } from '../domain/count-text.js';
import { type Asked, ENTRY_FILTERS, entryQueryOf, type Filter, FilterBar, useFilters } from '../parts/filter-bar.js';
import { GrantTable, NewGrant } from '../parts/grants.js';
import { NoEntry, Page } from '../parts/page.js';

/** The parameter of one grant, whatever else is asked. */
const GRANT = 'grant';

const FILTERS: readonly Filter[] = [
  { parameter: 'state', name: 'State', choices: { live: 'live', expired: 'expired', revoked: 'revoked', all: 'all' } },
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
    <Page isClose title="Grants" actions={<NewGrant isPrimary />}>
      <FilterBar placeholder="Search grants" filters={FILTERS}>
        {listText(list, 'grant')}
      </FilterBar>
      <GrantTable
        name="Grants"
        list={list}
        empty={
          <NoEntry
            asked={asked}
            word="grant"
            title="No grant yet"
            text="Nobody may read or change anything until something is granted. Begin with New grant."
          />
        }
      />
    </Page>
  );
}

function queryOf({ expires_before: before = '', ...rest }: Asked) {
  const at = new Date(before);
  return { ...entryQueryOf(rest), ...(!Number.isNaN(at.getTime()) && { expires_before: at.toISOString() }) };
}
