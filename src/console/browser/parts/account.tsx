import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { PRIVILEGES } from '../../../trino-rules/model/privilege.js';
import type { Schemas } from '../api/client.js';
import { loadedCountText, type PageQuery, usePages } from '../api/pages.js';
import { queryClient } from '../api/session.js';
import { countText } from '../domain/count-text.js';
import { pathText } from '../domain/node-path.js';
import { Badge, Button } from './controls.js';
import { Restrictions, Moment, Path, WhyLink } from './display.js';
import { type Filter, FilterBar, SEARCH, useFilters } from './filter-bar.js';
import { ExpiryText } from './entries.js';
import { Failure } from './notice.js';
import { Region } from './page.js';
import { actionColumn, type Column, Listing, PRIVILEGES_COLUMN } from './table.js';

type AccessEntry = Schemas['EffectiveAccessResponse'];

const FILTERS: readonly Filter[] = [
  { parameter: 'may', name: 'May', choices: Object.fromEntries(PRIVILEGES.map((name) => [name, name])) },
];

interface EffectiveAccessProps {
  name: string;
  /** The account's id, or `own` for the signed-in account. Part of the cache key. */
  account: 'own' | number;
  readPage: (page: PageQuery) => Promise<Schemas['EffectivePageResponse']>;
  /** Makes the address of the page that explains an access; null: accesses have no links to explanations. */
  whyHref: ((access: AccessEntry) => string | null) | null;
  emptyState: ReactNode;
}

export function EffectiveAccess({ name, account, readPage, whyHref, emptyState }: EffectiveAccessProps) {
  const { values } = useFilters(FILTERS);
  const searchText = (values[SEARCH] ?? '').toLowerCase();
  const privilege = values['may'];
  const isFiltered = searchText !== '' || privilege !== undefined;
  const list = usePages(['effective-access', account], readPage, { isReadToEnd: isFiltered });
  const { items, hasMore } = list;
  const shownAccess =
    items?.filter(
      ({ resource, privileges }) =>
        pathText(resource).toLowerCase().includes(searchText) &&
        (privilege === undefined || privileges.some((each) => each === privilege)),
    ) ?? null;
  if (items?.length === 0) return emptyState;
  return (
    <section className="stack stack--tight" aria-label="Access">
      <FilterBar placeholder="Filter by name of a node" filters={FILTERS}>
        {shownAccess === null ? 'Reading access' : nodesText(shownAccess, hasMore)}
      </FilterBar>
      <Listing
        name={name}
        list={{ ...list, items: shownAccess }}
        emptyState={<p className="dim">No node matches. Remove a filter.</p>}
        columns={accessColumns(whyHref)}
        keyOf={({ resource }) => JSON.stringify(resource)}
      />
    </section>
  );
}

function nodesText(accessEntries: readonly AccessEntry[], hasMore: boolean): string {
  const catalogs = new Set(accessEntries.flatMap(({ resource }) => ('catalog' in resource ? [resource.catalog] : [])));
  const nodeCountText = countText(accessEntries.length, 'node', { hasMore });
  return catalogs.size === 0 ? nodeCountText : `${nodeCountText} in ${countText(catalogs.size, 'catalog')}`;
}

function accessColumns(whyHref: EffectiveAccessProps['whyHref']): readonly Column<AccessEntry>[] {
  return [
    { name: 'Where', sortKey: ({ resource }) => pathText(resource), cell: ({ resource }) => <Path node={resource} /> },
    PRIVILEGES_COLUMN,
    { name: 'Limits', cell: (access) => <Restrictions access={access} /> },
    {
      name: 'Why',
      className: 'full',
      cell: (access) => (
        <WhyLink
          href={whyHref?.(access) ?? null}
          ways={access.origins.map(({ through, inherited_from: inheritedFrom }) => ({ through, inheritedFrom }))}
        />
      ),
    },
    {
      name: 'Until',
      className: 'nowrap',
      isLabelled: true,
      sortKey: lastExpiry,
      cell: (access) => <ExpiryText expiresAt={lastExpiry(access)} />,
    },
  ];
}

/** The time at which the last of the grants that give an access expires; null: one of them does not expire. */
function lastExpiry({ origins }: AccessEntry): string | null {
  const expiries = origins.map(({ expires_at: expiresAt }) => expiresAt);
  return expiries.includes(null) ? null : ((expiries as string[]).sort().at(-1) ?? null);
}

type Session = Schemas['SessionResponse'];

interface SessionsProps {
  account: 'own' | number;
  readPage: (page: PageQuery) => Promise<Schemas['SessionPage']>;
  endSession: (id: string) => Promise<unknown>;
  /** Ends all sessions of the account. If this is the signed-in account, the session of this page is kept. */
  endAllSessions: (sessions: readonly Session[]) => Promise<unknown>;
}

/** The sessions of an account, which can be ended one by one or all at once. */
export function Sessions({ account, readPage, endSession, endAllSessions }: SessionsProps) {
  const key = ['sessions', account];
  const list = usePages(key, readPage);
  const otherSessions = list.items?.filter(({ current }) => !current) ?? [];
  const endMutation = useMutation({
    mutationFn: (endSessions: () => Promise<unknown>) => endSessions(),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: key }),
  });
  const columns: readonly Column<Session>[] = [
    {
      name: 'Where',
      cell: ({ current, user_agent: userAgent, address }) => (
        <>
          {browserName(userAgent)} {current ? <Badge text="this one" /> : <span className="dim">{address}</span>}
        </>
      ),
    },
    { name: 'Began', isLabelled: true, cell: ({ created_at: createdAt }) => <Moment time={createdAt} /> },
    { name: 'Last used', isLabelled: true, cell: ({ last_used_at: lastUsedAt }) => <Moment time={lastUsedAt} /> },
    actionColumn(
      ({ id, current, user_agent: userAgent }) =>
        !current && (
          <Button
            text="End"
            look="small quiet"
            aria-label={`End ${browserName(userAgent)}`}
            onClick={() => endMutation.mutate(() => endSession(id))}
          />
        ),
    ),
  ];
  return (
    <Region
      title="Sessions"
      count={loadedCountText(list)}
      actions={
        otherSessions.length > 0 && (
          <Button
            text={account === 'own' ? 'End all others' : 'End all'}
            look="small quiet"
            onClick={() => endMutation.mutate(() => endAllSessions(otherSessions))}
          />
        )
      }
    >
      {endMutation.isError && <Failure problem={endMutation.error} />}
      <Listing
        name="Sessions"
        list={list}
        emptyState={<p className="dim">No session is open.</p>}
        columns={columns}
        keyOf={({ id }) => id}
      />
    </Region>
  );
}

/** A User-Agent header in words: *Firefox on Linux*. For clients other than browsers, the first word of the header. */
function browserName(userAgent: string | null): string {
  if (userAgent === null) return 'Unknown client';
  const browser = /(Edg|Firefox|Chrome|Safari)(?=\/)/.exec(userAgent)?.[1];
  const operatingSystem = /Windows|Mac OS|Android|iPhone|iPad|Linux/.exec(userAgent)?.[0];
  if (browser === undefined) return userAgent.split(/[ /]/)[0] ?? userAgent;
  return `${browser === 'Edg' ? 'Edge' : browser}${operatingSystem === undefined ? '' : ` on ${operatingSystem}`}`;
}
