import type { Schemas } from '../api/client.js';

export type Way = Schemas['HolderWayResponse'];
type Via = Schemas['ViaResponse'];

/** The parameter of the address that asks for one way. */
export const WAY = 'way';

/** A way in the address. */
export function wayKey({ group }: Pick<Way, 'group'>): string {
  return group === null ? 'directly' : `group:${group.id}`;
}

const DEPTH: Record<Via['level'], number> = {
  everything: 0,
  catalog: 1,
  schema: 2,
  table: 3,
  routine: 3,
  engine: 0,
  queries: 0,
  acting: 0,
};

/** The ways of a holder of a node, as they are said: through what, and from which node above it. */
export function waysThrough(
  via: readonly Via[],
  { catalog, schema, table }: { catalog?: string; schema?: string; table?: string },
) {
  const names = [catalog, schema, table].filter((name) => name !== undefined);
  return via.map(({ group, level, expires_at: until, is_for_everyone: isForEveryone }) => {
    const depth = DEPTH[level];
    const [inCatalog, inSchema] = names;
    const above = depth === 0 ? {} : depth === 1 ? { catalog: inCatalog } : { catalog: inCatalog, schema: inSchema };
    return {
      through: group !== null ? { group } : isForEveryone ? ('everyone' as const) : ('directly' as const),
      from: depth < names.length ? above : null,
      until,
    };
  });
}
