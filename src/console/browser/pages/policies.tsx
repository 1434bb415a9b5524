import { Link } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { KIND_NAMES, type Policy } from '../domain/policy-form.js';
import { Privileges } from '../parts/access.js';
import { countText, ENTRY_FILTERS, entryQueryOf } from '../parts/entry-filters.js';
import { Failure } from '../parts/failure.js';
import { FilterBar } from '../parts/filter-bar.js';
import { useFilters } from '../parts/filters.js';
import { Icon } from '../parts/icon.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { Path } from '../parts/path.js';
import { addressOf, Principal } from '../parts/principal.js';
import { Cell, Table } from '../parts/table.js';

const COLUMNS = [{ name: 'Policy' }, { name: 'Where' }, { name: 'Holder' }, { name: 'Takes' }, { name: 'Changed' }];

/** All policies, by filters. */
export function Policies() {
  const { asked } = useFilters(ENTRY_FILTERS);
  const query = entryQueryOf(asked);
  const list = usePages(['policies', query], (after) =>
    bodyOf(
      api.GET('/api/admin/policies', {
        params: { query: { ...query, limit: 200, ...(after !== undefined && { after }) } },
      }),
    ),
  );
  const { items, hasMore } = list;
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
          {items === null ? 'Reading policies' : countText(items.length, hasMore, 'policy', 'policies')}
        </FilterBar>
        {list.query.isError ? (
          <Failure problem={list.query.error} retry={() => void list.query.refetch()} />
        ) : items?.length === 0 ? (
          <NoPolicies isFiltered={Object.keys(asked).length > 0} />
        ) : (
          <Table
            name="Policies"
            columns={COLUMNS}
            items={items}
            keyOf={({ id }) => id}
            more={list.more}
            cells={(policy) => <PolicyCells policy={policy} />}
          />
        )}
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

export const KIND_ICONS = { row_filter: 'filter', column_mask: 'mask', hidden_column: 'column', deny: 'stop' } as const;

function PolicyCells({ policy }: { policy: Policy }) {
  const { id, kind, principal, except, resource, expression, privileges, changed_at: at } = policy;
  const { column } = resource as { column?: string };
  return (
    <>
      <Cell>
        <span className="row">
          <Icon name={KIND_ICONS[kind]} />
          <Link href={`/policies/${id}`}>
            {KIND_NAMES[kind]} {id}
          </Link>
        </span>
      </Cell>
      <Cell className="full">
        {column !== undefined && (
          <>
            <span className="path">
              <b>{column}</b>
            </span>{' '}
            <span className="dim">in</span>{' '}
          </>
        )}
        <Path node={resource} />
      </Cell>
      <Cell>
        <Principal of={principal} href={addressOf(principal)} />
        {except.length > 0 && <span className="dim"> but {except.length}</span>}
      </Cell>
      <Cell className="full">
        {privileges !== undefined ? (
          <Privileges names={privileges} />
        ) : (
          expression !== undefined && <code>{expression.length > 60 ? `${expression.slice(0, 60)}…` : expression}</code>
        )}
      </Cell>
      <Cell className="date" data-label="Changed">
        <Moment at={at} />
      </Cell>
    </>
  );
}
