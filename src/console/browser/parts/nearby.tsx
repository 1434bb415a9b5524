import { useQuery } from '@tanstack/react-query';
import { api, bodyOf } from '../api/client.js';
import { nearest } from '../domain/node-path.js';
import { Privileges } from './access.js';
import { Path } from './path.js';
import { Region } from './page.js';
import { Cell, Table } from './table.js';

const COLUMNS = ['Where', 'May'].map((name) => ({ name }));

/** What somebody who is refused on a node may reach instead, as near as possible. */
export function Nearby({ node }: { node: object }) {
  const { data } = useQuery({
    queryKey: ['effective-access', 'nearby'],
    queryFn: () => bodyOf(api.GET('/api/access/effective', { params: { query: { limit: 200 } } })),
  });
  const items = nearest(node, data?.items ?? []);
  if (items.length === 0) return null;
  return (
    <Region title="What you reach nearby">
      <Table
        name="Nearby"
        columns={COLUMNS}
        items={items}
        keyOf={({ resource }) => JSON.stringify(resource)}
        cells={({ resource, privileges }) => (
          <>
            <Cell>
              <Path node={resource} />
            </Cell>
            <Cell className="may">
              <Privileges names={privileges} />
            </Cell>
          </>
        )}
      />
    </Region>
  );
}
