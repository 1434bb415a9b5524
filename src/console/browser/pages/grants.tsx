import { api, bodyOf } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { parsePrincipal, principalParameter } from '../domain/principal-parameter.js';
import { Privileges } from '../parts/access.js';
import { Path } from '../parts/path.js';
import { Failure } from '../parts/failure.js';
import { FilterBar } from '../parts/filter-bar.js';
import { type Filter, SEARCH, useFilters } from '../parts/filters.js';
import { type Grant, NewGrant, Revoke, Until } from '../parts/grants.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { addressOf, Principal } from '../parts/principal.js';
import { PrincipalCombobox, usePrincipalName } from '../parts/principal-combobox.js';
import { Cell, Table } from '../parts/table.js';

const COLUMNS = [
  { name: 'Holder' },
  { name: 'May' },
  { name: 'Where' },
  { name: 'Given' },
  { name: 'Until' },
  { name: 'Action', isHidden: true },
];

/** By whom a grant or a policy is for, and by its node. */
export const ENTRY_FILTERS: readonly Filter[] = [
  {
    parameter: 'principal',
    name: 'Holder',
    field: (choose) => (
      <PrincipalCombobox
        value={null}
        set={(value) => {
          if (value !== null) choose(principalParameter(value));
        }}
      />
    ),
    show: (value) => <PrincipalName parameter={value} />,
  },
  { parameter: 'covering', name: 'Covers' },
  { parameter: 'catalog', name: 'Catalog' },
  { parameter: 'schema', name: 'Schema' },
  { parameter: 'table', name: 'Table' },
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

/** *50 grants*, *200 and more grants*. */
export function countText(count: number, hasMore: boolean, word: string, plural = `${word}s`): string {
  return `${count.toLocaleString('en-GB')}${hasMore ? ' and more' : ''} ${count === 1 ? word : plural}`;
}

/** The query of the API for what the address asks. */
export function entryQueryOf({ [SEARCH]: q, principal, covering, catalog, schema, table }: Asked) {
  return {
    ...(q !== undefined && { q }),
    ...(principal !== undefined && parsePrincipal(principal) !== null && { principal }),
    ...(covering !== undefined && { covering }),
    ...(catalog !== undefined && { catalog }),
    ...(schema !== undefined && { schema }),
    ...(table !== undefined && { table }),
  };
}

type Asked = Readonly<Record<string, string | undefined>>;

function queryOf(asked: Asked) {
  const { state, expires_before: before } = asked;
  const at = before === undefined ? null : new Date(before);
  return {
    ...entryQueryOf(asked),
    ...(state !== undefined && { state: state as 'live' }),
    ...(at !== null && !Number.isNaN(at.getTime()) && { expires_before: at.toISOString() }),
  };
}

/** Whom a parameter of the address names. */
function PrincipalName({ parameter }: { parameter: string }) {
  return <>{usePrincipalName(parsePrincipal(parameter))}</>;
}

function NoGrants({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No grant matches">Remove a filter, or search for something else.</Empty>
  ) : (
    <Empty title="No grant yet" action={<NewGrant />}>
      Nobody may read or change anything until something is granted.
    </Empty>
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
