import { useQuery } from '@tanstack/react-query';
import { useSettled } from '../parts/settled.js';
import { api, bodyOf } from './client.js';

/** The names of the children of a node, in order. */
export function useNames(under: readonly string[], part: string, isEnabled: boolean): readonly string[] {
  const wanted = useSettled(part, 100);
  const [catalog, schema] = under;
  const level = (['catalog', 'schema', 'table'] as const)[under.length] ?? 'table';
  const { data = [] } = useQuery({
    queryKey: ['names', under],
    enabled: isEnabled,
    queryFn: async () => {
      const query = { limit: 200, ...(catalog !== undefined && { catalog }), ...(schema !== undefined && { schema }) };
      const { items } = await bodyOf(api.GET('/api/admin/grants', { params: { query } }));
      const names = items.flatMap(({ resource }) => (resource as Partial<Record<typeof level, string>>)[level] ?? []);
      return [...new Set(names)].sort();
    },
  });
  return data.filter((name) => name.includes(wanted));
}
