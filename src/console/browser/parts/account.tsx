import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { PRIVILEGES } from '../../../trino-rules/model/privilege.js';
import type { Schemas } from '../api/client.js';
import { countOf, type PageQuery, usePages } from '../api/pages.js';
import { queries } from '../api/session.js';
import { countText } from '../domain/count-text.js';
import { pathText } from '../domain/node-path.js';
import { Badge, Button } from './controls.js';
import { Limits, Moment, Path, Privileges, WhyLink } from './display.js';
import { type Filter, FilterBar, SEARCH, useFilters } from './filter-bar.js';
import { ExpiryText } from './grants.js';
import { Failure } from './notice.js';
import { Region } from './page.js';
import { type Column, Listing } from './table.js';

type Access = Schemas['EffectiveAccessResponse'];

const FILTERS: readonly Filter[] = [
  { parameter: 'may', name: 'May', choices: Object.fromEntries(PRIVILEGES.map((name) => [name, name])) },
];

interface EffectiveAccessProps {
  /** The name of the table. */
  name: string;
  /** The account, as part of the cache key. */
  of: 'own' | number;
  read: (page: PageQuery) => Promise<Schemas['EffectivePageResponse']>;
  /** The address of an entry's explanation; null: none. */
  why: ((access: Access) => string | null) | null;
  empty: ReactNode;
}

/** The effective access of an account. */
export function EffectiveAccess({ name, of, read, why, empty }: EffectiveAccessProps) {
  const { asked } = useFilters(FILTERS);
  const text = (asked[SEARCH] ?? '').toLowerCase();
  const may = asked['may'];
  const list = usePages(['effective-access', of], read, { isWhole: text !== '' || may !== undefined });
  const { items, hasMore } = list;
  const shown =
    items?.filter(
      ({ resource, privileges }) =>
        pathText(resource).toLowerCase().includes(text) &&
        (may === undefined || privileges.some((each) => each === may)),
    ) ?? null;
  if (items?.length === 0) return empty;
  return (
    <section className="stack stack--tight" aria-label="Access">
      <FilterBar placeholder="Filter by name of a node" filters={FILTERS}>
        {shown === null ? 'Reading access' : nodesText(shown, hasMore)}
      </FilterBar>
      <Listing
        name={name}
        list={{ ...list, items: shown }}
        empty={<p className="dim">No node matches. Remove a filter.</p>}
        columns={columnsOf(why)}
        keyOf={({ resource }) => JSON.stringify(resource)}
      />
    </section>
  );
}

function nodesText(shown: readonly Access[], hasMore: boolean): string {
  const catalogs = new Set(shown.flatMap(({ resource }) => ('catalog' in resource ? [resource.catalog] : [])));
  const nodes = countText(shown.length, 'node', { hasMore });
  return catalogs.size === 0 ? nodes : `${nodes} in ${countText(catalogs.size, 'catalog')}`;
}

function columnsOf(why: EffectiveAccessProps['why']): readonly Column<Access>[] {
  return [
    { name: 'Where', order: ({ resource }) => pathText(resource), cell: ({ resource }) => <Path node={resource} /> },
    { name: 'May', className: 'may', cell: ({ privileges }) => <Privileges names={privileges} /> },
    { name: 'Limits', cell: (access) => <Limits of={access} /> },
    {
      name: 'Why',
      className: 'full',
      cell: (access) => (
        <WhyLink
          href={why?.(access) ?? null}
          ways={access.origins.map(({ through, inherited_from: from }) => ({ through, from }))}
        />
      ),
    },
    {
      name: 'Until',
      className: 'nowrap',
      isLabelled: true,
      order: lastEnd,
      cell: (access) => <ExpiryText at={lastEnd(access)} />,
    },
  ];
}

/** The latest expiry of its ways; null: one of them does not expire. */
function lastEnd({ origins }: Access): string | null {
  const ends = origins.map(({ expires_at: end }) => end);
  return ends.includes(null) ? null : ((ends as string[]).sort().at(-1) ?? null);
}

type Session = Schemas['SessionResponse'];

interface SessionsProps {
  /** The account, as part of the cache key. */
  of: 'own' | number;
  read: (page: PageQuery) => Promise<Schemas['SessionPage']>;
  end: (id: string) => Promise<unknown>;
  /** Ends all sessions; of the own account, all except the current one. */
  endAll: (sessions: readonly Session[]) => Promise<unknown>;
}

/** The sessions of an account, to be ended one by one. */
export function Sessions({ of, read, end, endAll }: SessionsProps) {
  const key = ['sessions', of];
  const list = usePages(key, read);
  const others = list.items?.filter(({ current }) => !current) ?? [];
  const ending = useMutation({
    mutationFn: (act: () => Promise<unknown>) => act(),
    onSuccess: () => queries.invalidateQueries({ queryKey: key }),
  });
  const columns: readonly Column<Session>[] = [
    {
      name: 'Where',
      cell: ({ current, user_agent: agent, address }) => (
        <>
          {browserName(agent)} {current ? <Badge text="this one" /> : <span className="dim">{address}</span>}
        </>
      ),
    },
    { name: 'Began', isLabelled: true, cell: ({ created_at: at }) => <Moment at={at} /> },
    { name: 'Last used', isLabelled: true, cell: ({ last_used_at: at }) => <Moment at={at} /> },
    {
      name: 'Action',
      className: 'num',
      isHidden: true,
      cell: ({ id, current, user_agent: agent }) =>
        !current && (
          <Button
            text="End"
            look="small quiet"
            aria-label={`End ${browserName(agent)}`}
            onClick={() => ending.mutate(() => end(id))}
          />
        ),
    },
  ];
  return (
    <Region
      title="Sessions"
      count={countOf(list)}
      actions={
        others.length > 0 && (
          <Button
            text={of === 'own' ? 'End all others' : 'End all'}
            look="small quiet"
            onClick={() => ending.mutate(() => endAll(others))}
          />
        )
      }
    >
      {ending.isError && <Failure problem={ending.error} />}
      <Listing
        name="Sessions"
        list={list}
        empty={<p className="dim">No session is open.</p>}
        columns={columns}
        keyOf={({ id }) => id}
      />
    </Region>
  );
}

/** *Firefox on Linux*, from a User-Agent; other clients by its first word. */
function browserName(agent: string | null): string {
  if (agent === null) return 'Unknown client';
  const browser = /(Edg|Firefox|Chrome|Safari)(?=\/)/.exec(agent)?.[1];
  const system = /Windows|Mac OS|Android|iPhone|iPad|Linux/.exec(agent)?.[0];
  if (browser === undefined) return agent.split(/[ /]/)[0] ?? agent;
  return `${browser === 'Edg' ? 'Edge' : browser}${system === undefined ? '' : ` on ${system}`}`;
}
