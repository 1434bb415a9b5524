import type { Schemas } from '../api/client.js';
import { useGrants } from '../api/entries.js';
import { GrantTable } from '../parts/grants.js';
import { Region } from '../parts/region.js';

/** The grants that name a group. */
export function GroupHoldings({ group: { id } }: { group: Schemas['GroupResponse'] }) {
  const list = useGrants({ principal: `group:${id}` });
  return (
    <Region title="What this group holds">
      <GrantTable name="Grants" isOfOne list={list} empty={<p className="dim">No grant names this group.</p>} />
    </Region>
  );
}
