import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { Privileges } from '../parts/access.js';
import { Failure } from '../parts/failure.js';
import { Moment } from '../parts/moment.js';
import { Path } from '../parts/path.js';
import { Cell, Table } from '../parts/table.js';

const COLUMNS = [{ name: 'May' }, { name: 'Where' }, { name: 'Given' }];

/** The grants that name a group. */
export function GroupHoldings({ group: { id } }: { group: Schemas['GroupResponse'] }) {
  const { query, items, more } = usePages(['grants', 'of-group', id], (after) =>
    bodyOf(
      api.GET('/api/admin/grants', {
        params: { query: { principal: `group:${id}`, limit: 200, ...(after !== undefined && { after }) } },
      }),
    ),
  );
  return (
    <section>
      <div className="head">
        <h2>What this group holds</h2>
      </div>
      {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {items?.length === 0 ? (
        <p className="dim">No grant names this group.</p>
      ) : (
        <Table
          name="Grants"
          columns={COLUMNS}
          items={items}
          keyOf={({ id: grant }) => grant}
          more={more}
          cells={(grant) => (
            <>
              <Cell>
                <Privileges names={grant.privileges} />
              </Cell>
              <Cell>
                <Path node={grant.resource} />
              </Cell>
              <Cell>
                <Moment at={grant.granted_at} />{' '}
                {grant.granted_by !== null && <span className="dim">by {grant.granted_by.name}</span>}
              </Cell>
            </>
          )}
        />
      )}
    </section>
  );
}
