import type { Schemas } from '../api/client.js';
import { namesOf, nodeAt } from './node-path.js';

export type HolderWay = Schemas['HolderWayResponse'];
type ViaResponse = Schemas['ViaResponse'];

export function wayKey({ group }: Pick<HolderWay, 'group'>): string {
  return group === null ? 'directly' : `group:${group.id}`;
}

const LEVELS: readonly string[] = ['everything', 'catalog', 'schema'];

/** The ways in which a holder has access to a node: through which group, from which node above, and until when. */
export function accessWaysOf(via: readonly ViaResponse[], node: object) {
  const nodePath = namesOf(node);
  return via.map(({ group, level, expires_at: expiresAt, is_for_everyone: isForEveryone }) => {
    const levelIndex = LEVELS.indexOf(level);
    return {
      through: group !== null ? { group } : isForEveryone ? ('everyone' as const) : ('directly' as const),
      inheritedFrom: levelIndex >= 0 && levelIndex < nodePath.length ? nodeAt(nodePath.slice(0, levelIndex)) : null,
      expiresAt,
    };
  });
}
