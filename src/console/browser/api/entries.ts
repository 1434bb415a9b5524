import type { paths } from './schema.js';
import { api, bodyOf, type Schemas } from './client.js';
import { usePages } from './pages.js';
import { queries } from './session.js';

export type Grant = Schemas['GrantResponse'];
export type Policy = Schemas['PolicyResponse'];

type QueryOf<P extends '/api/admin/grants' | '/api/admin/policies'> = NonNullable<
  paths[P]['get']['parameters']['query']
>;

/** Grants, by filters. */
export function useGrants(query: QueryOf<'/api/admin/grants'>, isEnabled = true) {
  return usePages(
    ['grants', query],
    (page) => bodyOf(api.GET('/api/admin/grants', { params: { query: { ...query, ...page } } })),
    { isEnabled },
  );
}

/** Policies, by filters. */
export function usePolicies(query: QueryOf<'/api/admin/policies'>) {
  return usePages(['policies', query], (page) =>
    bodyOf(api.GET('/api/admin/policies', { params: { query: { ...query, ...page } } })),
  );
}

/** What stays as it was read, whatever is granted: who is signed in, and the policy that is being edited. */
const KEPT: readonly unknown[] = ['start', 'policy', 'rows'];

/** What changes with every grant and policy is read anew: lists, previews, answers. */
export function accessChanged(): Promise<void> {
  return queries.invalidateQueries({ predicate: ({ queryKey }) => !KEPT.includes(queryKey[0]) });
}
