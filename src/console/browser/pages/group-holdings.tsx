import type { Schemas } from '../api/client.js';
import { useGrants } from '../api/entries.js';
import { GrantTable } from '../parts/grants.js';

/** The grants that name a group. */
export function GroupHoldings({ group: { id } }: { group: Schemas['GroupResponse'] }) {
  const list = useGrants({ principal: `group:${id}` });
  return (
    <section>
      <div className="head">
        <h2>What this group holds</h2>
      </div>
      <GrantTable name="Grants" isOfOne list={list} empty={<p className="dim">No grant names this group.</p>} />
    </section>
  );
}
