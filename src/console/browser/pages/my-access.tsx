import { useMutation } from '@tanstack/react-query';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/session.js';
import { Limits, Privileges, Ways } from '../parts/access.js';
import { Failure } from '../parts/failure.js';
import { FilterBar } from '../parts/filter-bar.js';
import { SEARCH, useFilters } from '../parts/filters.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { Path, pathText } from '../parts/path.js';
import { Cell, Table } from '../parts/table.js';

const ACCESS = [{ name: 'Where' }, { name: 'May' }, { name: 'Limits' }, { name: 'Why' }];

/** What the person who is signed in may reach and through what, and their sessions. */
export function MyAccess() {
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack">
        <PageHead title="My access">What you may reach, and through what.</PageHead>
        <OwnAccess />
        <Sessions />
      </div>
    </main>
  );
}

function OwnAccess() {
  const { query, items, more, hasMore } = usePages(['own-access'], (after) =>
    bodyOf(
      api.GET('/api/access/effective', { params: { query: { limit: 200, ...(after !== undefined && { after }) } } }),
    ),
  );
  const { asked } = useFilters([]);
  const text = (asked[SEARCH] ?? '').toLowerCase();
  const shown = items?.filter(({ resource }) => pathText(resource).toLowerCase().includes(text)) ?? null;
  if (query.isError) return <Failure problem={query.error} retry={() => void query.refetch()} />;
  if (items?.length === 0) {
    return (
      <Empty title="You reach nothing yet">
        No grant names you or a group that you are in. Ask an administrator for what you need.
      </Empty>
    );
  }
  return (
    <section className="stack stack--tight" aria-label="Access">
      <FilterBar placeholder="Filter by name of a node">
        {shown === null ? 'Reading what you may reach' : `${shown.length}${hasMore ? ' and more' : ''} nodes`}
      </FilterBar>
      <Table
        name="My access"
        columns={ACCESS}
        items={shown}
        keyOf={({ resource }) => JSON.stringify(resource)}
        more={more}
        cells={(access) => (
          <>
            <Cell>
              <Path node={access.resource} />
            </Cell>
            <Cell className="may">
              <Privileges names={access.privileges} />
            </Cell>
            <Cell className="full">
              <Limits of={access} />
            </Cell>
            <Cell className="full">
              <Ways ways={access.origins.map(({ through, inherited_from: from }) => ({ through, from }))} />
            </Cell>
          </>
        )}
      />
    </section>
  );
}

const SESSIONS = [{ name: 'Where' }, { name: 'Began' }, { name: 'Last used' }, { name: 'Action', isHidden: true }];

function Sessions() {
  const { query, items, more } = usePages(['own-sessions'], (after) =>
    bodyOf(api.GET('/api/auth/sessions', { params: { query: after === undefined ? {} : { after } } })),
  );
  const ending = useMutation({
    mutationFn: (id: string) => bodyOf(api.DELETE('/api/auth/sessions/{id}', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['own-sessions'] }),
  });
  return (
    <section>
      <div className="head">
        <h2>Sessions</h2>
        {items !== null && <span className="count">{items.length}</span>}
      </div>
      {(query.error ?? ending.error) !== null && (
        <Failure problem={query.error ?? ending.error ?? new Error()} retry={() => void query.refetch()} />
      )}
      <Table
        name="Sessions"
        columns={SESSIONS}
        items={items}
        keyOf={({ id }) => id}
        more={more}
        cells={(session) => <SessionCells session={session} end={() => ending.mutate(session.id)} />}
      />
    </section>
  );
}

function SessionCells({ session, end }: { session: Schemas['SessionResponse']; end: () => void }) {
  const name = browserName(session.user_agent);
  return (
    <>
      <Cell>
        {name}{' '}
        {session.current ? <span className="badge">this one</span> : <span className="dim">{session.address}</span>}
      </Cell>
      <Cell data-label="Began">
        <Moment at={session.created_at} />
      </Cell>
      <Cell data-label="Last used">
        <Moment at={session.last_used_at} />
      </Cell>
      <Cell className="num">
        {!session.current && (
          <button className="button button--small button--quiet" type="button" onClick={end} aria-label={`End ${name}`}>
            End
          </button>
        )}
      </Cell>
    </>
  );
}

/** *Firefox on Linux*, from what browsers say of themselves; others by their first word. */
function browserName(agent: string | null): string {
  if (agent === null) return 'Unknown client';
  const browser = /(Edg|Firefox|Chrome|Safari)(?=\/)/.exec(agent)?.[1];
  const system = /Windows|Mac OS|Android|iPhone|iPad|Linux/.exec(agent)?.[0];
  if (browser === undefined) return agent.split(/[ /]/)[0] ?? agent;
  return `${browser === 'Edg' ? 'Edge' : browser}${system === undefined ? '' : ` on ${system}`}`;
}
