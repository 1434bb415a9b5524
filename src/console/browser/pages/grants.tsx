import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { useGrants, useOneGrant } from '../api/entries.js';
import { countText, listText } from '../domain/count-text.js';
import { parsePrincipal } from '../domain/principal.js';
import {
  type Asked,
  ENTRY_FILTERS,
  entryQueryOf,
  type Filter,
  FilterBar,
  momentFilter,
  useFilters,
  withMoments,
} from '../parts/filter-bar.js';
import { GrantTable, NewGrant } from '../parts/grants.js';
import { NoEntry, Page } from '../parts/page.js';

/** The parameter of one grant, whatever else is asked. */
const GRANT = 'grant';
const ENDS = 'expires_before';

const FILTERS: readonly Filter[] = [
  { parameter: 'state', name: 'State', choices: { live: 'live', expired: 'expired', revoked: 'revoked', all: 'all' } },
  ...ENTRY_FILTERS,
  momentFilter(ENDS, 'Ends before', [1, 7, 30, 90]),
  { parameter: GRANT, name: 'Grant' },
];

/** All grants, by filters, and how to take one back. */
export function Grants() {
  const { asked } = useFilters(FILTERS);
  const { [GRANT]: id } = asked;
  const all = useGrants(entryQueryOf(withMoments(asked, ENDS)), id === undefined);
  const one = useOneGrant(id);
  const list = id === undefined ? all : one;
  return (
    <Page isClose title="Grants" actions={<NewGrant isPrimary />}>
      <FilterBar placeholder="Search grants" filters={FILTERS}>
        {listText(list, 'grant')}
      </FilterBar>
      <GrantTable
        name="Grants"
        list={list}
        empty={
          <NoEntry
            asked={asked}
            word="grant"
            title="No grant yet"
            text="Nobody may read or change anything until something is granted. Begin with New grant."
            instead={<ThroughGroups asked={asked} />}
          />
        }
      />
    </Page>
  );
}

/** Shown when no grant names the person that is searched for: the number of nodes that this person reaches through groups. */
function ThroughGroups({ asked: { principal, q = '' } }: { asked: Asked }) {
  const asked = parsePrincipal(principal ?? null);
  const { data } = useQuery({
    queryKey: ['effective-access', 'through-groups', principal, q],
    enabled: asked?.type === 'user' || (principal === undefined && q !== ''),
    queryFn: async () => {
      const person =
        asked?.id === undefined
          ? (await bodyOf(api.GET('/api/admin/users', { params: { query: { q, limit: 1 } } }))).items[0]
          : await bodyOf(api.GET('/api/admin/users/{id}', { params: { path: { id: asked.id } } }));
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
