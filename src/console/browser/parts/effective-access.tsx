import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.js';
import { type PageQuery, usePages } from '../api/pages.js';
import { PRIVILEGES } from '../../../trino-rules/model/privilege.js';
import { countText } from '../domain/count-text.js';
import { pathText } from '../domain/node-path.js';
import { Limits, Privileges, WhyLink } from './access.js';
import { FilterBar } from './filter-bar.js';
import { type Filter, SEARCH, useFilters } from './filters.js';
import { Until } from './grants.js';
import { Listing } from './listing.js';
import { Path } from './path.js';
import { Cell } from './table.js';

type Access = Schemas['EffectiveAccessResponse'];

const COLUMNS = ['Where', 'May', 'Limits', 'Why', 'Until'].map((name) => ({ name }));

const FILTERS: readonly Filter[] = [
  { parameter: 'may', name: 'May', choices: PRIVILEGES.map((name) => ({ value: name, text: name })) },
];

interface EffectiveAccessProps {
  /** The name of the table. */
  name: string;
  /** Whose it is, in the cache of answers. */
  of: 'own' | number;
  read: (page: PageQuery) => Promise<Schemas['EffectivePageResponse']>;
  /** Where the reason of an entry is explained; null: nowhere. */
  why: ((access: Access) => string | null) | null;
  empty: ReactNode;
}

/** All that somebody may do, where, and through what. */
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
        columns={COLUMNS}
        keyOf={({ resource }) => JSON.stringify(resource)}
        cells={(access) => <AccessCells access={access} why={why} />}
      />
    </section>
  );
}

function nodesText(shown: readonly Access[], hasMore: boolean): string {
  const catalogs = new Set(shown.flatMap(({ resource }) => ('catalog' in resource ? [resource.catalog] : [])));
  const nodes = countText(shown.length, 'node', { hasMore });
  return catalogs.size === 0 ? nodes : `${nodes} in ${countText(catalogs.size, 'catalog')}`;
}

function AccessCells({ access, why }: { access: Access; why: EffectiveAccessProps['why'] }) {
  return (
    <>
      <Cell>
        <Path node={access.resource} />
      </Cell>
      <Cell className="may">
        <Privileges names={access.privileges} />
      </Cell>
      <Cell>
        <Limits of={access} />
      </Cell>
      <Cell className="full">
        <WhyLink
          href={why?.(access) ?? null}
          ways={access.origins.map(({ through, inherited_from: from }) => ({ through, from }))}
        />
      </Cell>
      <Cell className="nowrap" data-label="Until">
        <Until at={lastEnd(access)} />
      </Cell>
    </>
  );
}

/** The last end of all its ways; null: one of them has none. */
function lastEnd({ origins }: Access): string | null {
  const ends = origins.map(({ expires_at: end }) => end);
  return ends.includes(null) ? null : ((ends as string[]).sort().at(-1) ?? null);
}
