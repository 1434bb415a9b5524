import { useMutation } from '@tanstack/react-query';
import type { Schemas } from '../api/client.js';
import { countOf, type PageQuery, usePages } from '../api/pages.js';
import { queries } from '../api/session.js';
import { Failure } from './failure.js';
import { Listing } from './listing.js';
import { Moment } from './moment.js';
import { Region } from './page.js';
import { Cell } from './table.js';

const COLUMNS = [{ name: 'Where' }, { name: 'Began' }, { name: 'Last used' }, { name: 'Action', isHidden: true }];

interface SessionsProps {
  /** Whose they are, in the cache of answers. */
  of: 'own' | number;
  read: (page: PageQuery) => Promise<Schemas['SessionPage']>;
  end: (id: string) => Promise<unknown>;
  /** All of them; of one's own all others. */
  endAll?: (sessions: readonly Schemas['SessionResponse'][]) => Promise<unknown>;
}

/** The sessions of an account, to be ended one by one. */
export function Sessions({ of, read, end, endAll }: SessionsProps) {
  const key = ['sessions', of];
  const list = usePages(key, read);
  const { items } = list;
  const ending = useMutation({
    mutationFn: (ids: readonly string[] | null): Promise<unknown> =>
      ids === null ? (endAll?.(items ?? []) ?? Promise.resolve()) : Promise.all(ids.map(end)),
    onSuccess: () => queries.invalidateQueries({ queryKey: key }),
  });
  const others = items?.filter(({ current }) => !current) ?? [];
  return (
    <Region
      title="Sessions"
      count={countOf(list)}
      actions={
        endAll !== undefined &&
        others.length > 0 && (
          <button className="button button--small button--quiet" type="button" onClick={() => ending.mutate(null)}>
            {of === 'own' ? 'End all others' : 'End all'}
          </button>
        )
      }
    >
      {ending.isError && <Failure problem={ending.error} />}
      <Listing
        name="Sessions"
        list={list}
        empty={<p className="dim">No session is open.</p>}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        cells={(session) => <SessionCells session={session} end={() => ending.mutate([session.id])} />}
      />
    </Region>
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
