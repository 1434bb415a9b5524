import { namesOf } from './node-path.js';

/** Entries that are shown of many. */
const MOST = 5;

/** The entries whose nodes share the longest path with a node of the data, in their order. */
export function nearest<T extends { resource: object }>(node: object, entries: readonly T[]): T[] {
  const names = namesOf(node);
  const shared = ({ resource }: T): number => {
    const others = namesOf(resource);
    const end = names.findIndex((name, at) => name !== others[at]);
    return end === -1 ? names.length : end;
  };
  return [...entries].sort((a, b) => shared(b) - shared(a)).slice(0, MOST);
}
