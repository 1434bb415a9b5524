import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { useGrants, useOneGrant, useUnusedGrants } from '../api/entries.js';
import { countText, listText } from '../domain/count-text.js';
import { parsePrincipal } from '../domain/principal.js';
import {
  type FilterValues,
  ENTRY_FILTERS,
  entryQueryOf,
  type Filter,
  FilterBar,
  momentFilter,
  useFilters,
  withMoments,
} from '../parts/filter-bar.js';
import { GrantTable, NewGrantLink } from '../parts/grants.js';
import { EmptyList, Page } from '../parts/page.js';

/** With the parameter `grant` the page shows that grant alone, and with `unused` the grants that were not used in so many days. */
const FILTERS: readonly Filter[] = [
  { parameter: 'state', name: 'State', choices: { live: 'live', expired: 'expired', revoked: 'revoked', all: 'all' } },
  ...ENTRY_FILTERS,
  momentFilter('expires_before', 'Ends before', [1, 7, 30, 90]),
  { parameter: 'grant', name: 'Grant' },
  {
    parameter: 'unused',
    name: 'Decided nothing',
    choices: { 7: 'in 7 days', 30: 'in 30 days', 90: 'in 90 days' },
  },
];

export function Grants() {
  const { values } = useFilters(FILTERS);
  const { grant: id, unused: days, ...filters } = values;
  const query = entryQueryOf(withMoments(filters, 'expires_before'));
  const allGrants = useGrants(query, id === undefined && days === undefined);
  const oneGrantList = useOneGrant(id);
  const unusedGrants = useUnusedGrants(id === undefined ? days : undefined);
  const list = id !== undefined ? oneGrantList : days !== undefined ? unusedGrants : allGrants;
  const hasDecisionLogs = days !== undefined || list.items?.some((grant) => grant.unused_since !== undefined) === true;
  return (
    <Page isCompact title="Grants" actions={<NewGrantLink isPrimary />}>
      <FilterBar placeholder="Search grants" filters={hasDecisionLogs ? FILTERS : FILTERS.slice(0, -1)}>
        {listText(list, 'grant')}
      </FilterBar>
      <GrantTable
        name="Grants"
        list={list}
        emptyState={
          <EmptyList
            filterValues={values}
            entryKind="grant"
            title="No grant yet"
            text="Nobody may read or change anything until something is granted. Begin with New grant."
            suggestion={<AccessThroughGroups values={values} />}
          />
        }
      />
    </Page>
  );
}

/** Shown when a search for a person finds no grant: the number of nodes to which the person has access through groups. */
function AccessThroughGroups({ values: { principal, q = '' } }: { values: FilterValues }) {
  const searchedPrincipal = parsePrincipal(principal ?? null);
  const { data } = useQuery({
    queryKey: ['effective-access', 'through-groups', principal, q],
    enabled: searchedPrincipal?.type === 'user' || (principal === undefined && q !== ''),
    queryFn: async () => {
      const person =
        searchedPrincipal?.id === undefined
          ? (await bodyOf(api.GET('/api/admin/users', { params: { query: { q, limit: 1 } } }))).items[0]
          : await bodyOf(api.GET('/api/admin/users/{id}', { params: { path: { id: searchedPrincipal.id } } }));
      if (person === undefined) return null;
      const query = { principal: `user:${person.id}`, limit: 200 };
      const { items, next } = await bodyOf(api.GET('/api/admin/access/effective', { params: { query } }));
      const nodes = items.filter(({ origins }) => origins.some(({ through }) => typeof through === 'object'));
      return { person, nodes: nodes.length, hasMore: next !== null };
    },
  });
  if (data === undefined || data === null || data.nodes === 0) return null;
  const { person, nodes, hasMore } = data;
  return (
    <p role="status">
      <Link href={`/people/${person.id}`}>{person.username}</Link> reaches {countText(nodes, 'node', { hasMore })}{' '}
      through groups.
    </p>
  );
}
