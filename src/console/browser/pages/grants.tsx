import { api, bodyOf } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { Privileges } from '../parts/access.js';
import { Path } from '../parts/path.js';
import { type Asked, countText, ENTRY_FILTERS, entryQueryOf } from '../parts/entry-filters.js';
import { Failure } from '../parts/failure.js';
import { FilterBar } from '../parts/filter-bar.js';
import { type Filter, useFilters } from '../parts/filters.js';
import { type Grant, NewGrant, Revoke, Until } from '../parts/grants.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { addressOf, Principal } from '../parts/principal.js';
import { Cell, Table } from '../parts/table.js';

const COLUMNS = [
  { name: 'Holder' },
  { name: 'May' },
  { name: 'Where' },
  { name: 'Given' },
  { name: 'Until' },
  { name: 'Action', isHidden: true },
];

const FILTERS: readonly Filter[] = [
  {
    parameter: 'state',
    name: 'State',
    choices: ['live', 'expired', 'revoked', 'all'].map((value) => ({ value, text: value })),
  },
  ...ENTRY_FILTERS,
  { parameter: 'expires_before', name: 'Ends before', type: 'datetime-local' },
];

/** All grants, by filters, and how to take one back. */
export function Grants() {
  const { asked } = useFilters(FILTERS);
  const query = queryOf(asked);
  const list = usePages(['grants', query], (after) =>
    bodyOf(
      api.GET('/api/admin/grants', {
        params: { query: { ...query, limit: 200, ...(after !== undefined && { after }) } },
      }),
    ),
  );
  const { items, hasMore } = list;
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead title="Grants" actions={<NewGrant isPrimary />} />
        <FilterBar placeholder="Search grants" filters={FILTERS}>
          {items === null ? 'Reading grants' : countText(items.length, hasMore, 'grant')}
        </FilterBar>
        {list.query.isError ? (
          <Failure problem={list.query.error} retry={() => void list.query.refetch()} />
        ) : items?.length === 0 ? (
          <NoGrants isFiltered={Object.keys(asked).length > 0} />
        ) : (
          <Table
            name="Grants"
            columns={COLUMNS}
            items={items}
            keyOf={({ id }) => id}
            more={list.more}
            cells={(grant) => <GrantCells grant={grant} />}
          />
        )}
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
    <Empty title="No grant yet">Nobody may read or change anything until something is granted.</Empty>
  );
}

function GrantCells({ grant }: { grant: Grant }) {
  const { principal, privileges, resource, granted_at: at, granted_by: by, expires_at: until, state } = grant;
  return (
    <>
      <Cell>
        <Principal of={principal} href={addressOf(principal)} />
      </Cell>
      <Cell className="may">
        <Privileges names={privileges} />
      </Cell>
      <Cell>
        <Path node={resource} />
      </Cell>
      <Cell>
        <Moment at={at} /> <span className="dim">by {by?.name ?? 'the command line'}</span>
      </Cell>
      <Cell className="nowrap">
        <Until at={until} />
      </Cell>
      <Cell className="num">
        {state === 'live' ? <Revoke grant={grant} /> : <span className="badge">{state}</span>}
      </Cell>
    </>
  );
}
