import { useQuery } from '@tanstack/react-query';
import { countText, moreText } from '../domain/count-text.js';
import { useSettled } from '../parts/settled.js';
import { readChildren, readOwnChildren } from './catalog.js';
import { useStart } from './session.js';

interface NamesOptions {
  isEnabled: boolean;
  /** Those that the person who is signed in may see, also where all could be had. */
  isOwn: boolean;
}

/** The first children of a node, how many the engine lists (null: not known), and what is left out. */
export function useNames(under: readonly string[], part: string, { isEnabled, isOwn }: NamesOptions) {
  const q = useSettled(part, 100);
  const isAll = useStart().data?.account?.role === 'admin' && !isOwn;
  const { data } = useQuery({
    queryKey: ['names', under, q, isAll],
    enabled: isEnabled,
    placeholderData: (former) => former,
    queryFn: () => (isAll ? readChildren : readOwnChildren)(under, q, { limit: 50 }),
  });
  const { items = [], total = null, next = null } = data ?? {};
  const left = (total ?? 0) - items.filter(({ in_engine: isListed }) => isListed === true).length;
  return {
    names: items.map(({ name }) => name),
    total,
    more: next === null ? null : moreText([left > 0 ? countText(left, 'name') : 'names']),
  };
}
