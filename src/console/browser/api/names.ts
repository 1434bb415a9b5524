import { useQuery } from '@tanstack/react-query';
import { useSettled } from '../parts/settled.js';
import { readChildren, readOwnChildren } from './catalog.js';
import { useStart } from './session.js';

/** The children of a node, and how many the engine lists; null: not known. */
export function useNames(under: readonly string[], part: string, isEnabled: boolean) {
  const q = useSettled(part, 100);
  const isAdministrator = useStart().data?.account?.role === 'admin';
  const { data } = useQuery({
    queryKey: ['names', under, q],
    enabled: isEnabled,
    placeholderData: (former) => former,
    queryFn: () => (isAdministrator ? readChildren : readOwnChildren)(under, q, { limit: 50 }),
  });
  return { names: data?.items.map(({ name }) => name) ?? [], total: data?.total ?? null };
}
