import { sqlPath } from '../domain/sql-path.js';
import { api, bodyOf } from './client.js';
import { queries } from './session.js';

/** As many as a list of names has room for. */
const MOST_NAMES = 200;

/** Names that the person may see below a node, that begin with or hold a text; none where they cannot be had. */
export async function ownNames(under: readonly string[], part: string): Promise<string[]> {
  const path = sqlPath(under);
  const query = { limit: MOST_NAMES, ...(path !== '' && { under: path }), ...(part !== '' && { q: part }) };
  try {
    const { items } = await queries.query({
      queryKey: ['own-names', path, part],
      staleTime: 60_000,
      queryFn: () => bodyOf(api.GET('/api/catalog', { params: { query } })),
    });
    return items.map(({ name }) => name);
  } catch {
    return [];
  }
}
