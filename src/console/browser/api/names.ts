import { useQuery } from '@tanstack/react-query';
import { useSettled } from '../parts/settled.js';
import { api, bodyOf } from './client.js';

/** The children of a node, and how many the engine lists; null: not known. */
export function useNames(under: readonly string[], part: string, isEnabled: boolean) {
  const q = useSettled(part, 100);
  const { data } = useQuery({
    queryKey: ['names', under, q],
    enabled: isEnabled,
    placeholderData: (former) => former,
    queryFn: () => {
      const path = under.map((name) => (/[."]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join('.');
      const query = { limit: 50, ...(path !== '' && { under: path }), ...(q !== '' && { q }) };
      return bodyOf(api.GET('/api/admin/catalog', { params: { query } }));
    },
  });
  return { names: data?.items.map(({ name }) => name) ?? [], total: data?.total ?? null };
}
