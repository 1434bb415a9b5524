import type { Schemas } from '../api/client.js';
import { namesOf, nodeAt } from './node-path.js';

export type Way = Schemas['HolderWayResponse'];
type Via = Schemas['ViaResponse'];

/** The parameter of the address that asks for one way. */
export const WAY = 'way';

/** The value of a way in the address. */
export function wayKey({ group }: Pick<Way, 'group'>): string {
  return group === null ? 'directly' : `group:${group.id}`;
}

const LEVELS: readonly string[] = ['everything', 'catalog', 'schema'];

/** The ways of a holder of a node in words: through what, from which node above it, and until when. */
export function waysThrough(via: readonly Via[], node: object) {
  const names = namesOf(node);
  return via.map(({ group, level, expires_at: until, is_for_everyone: isForEveryone }) => {
    const depth = LEVELS.indexOf(level);
    return {
      through: group !== null ? { group } : isForEveryone ? ('everyone' as const) : ('directly' as const),
      from: depth >= 0 && depth < names.length ? nodeAt(names.slice(0, depth)) : null,
      until,
    };
  });
}
