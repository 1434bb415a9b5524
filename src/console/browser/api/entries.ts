import { flushSync } from 'react-dom';
import type { paths } from './schema.js';
import { api, bodyOf, isProblem, type Schemas } from './client.js';
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

/** One grant, as a list; empty: there is none of the id. */
export function useOneGrant(id: string | undefined) {
  return usePages(['grants', 'one', id], () => oneGrant(Number(id)), { isEnabled: id !== undefined });
}

async function oneGrant(id: number): Promise<Schemas['GrantPageResponse']> {
  try {
    return { items: [await bodyOf(api.GET('/api/admin/grants/{id}', { params: { path: { id } } }))], next: null };
  } catch (problem) {
    if (isProblem(problem, 'not_found')) return { items: [], next: null };
    throw problem;
  }
}

/** Policies, by filters. */
export function usePolicies(query: QueryOf<'/api/admin/policies'>) {
  return usePages(['policies', query], (page) =>
    bodyOf(api.GET('/api/admin/policies', { params: { query: { ...query, ...page } } })),
  );
}

/** What stays as it was read, whatever is granted: who is signed in, and the policy that is being edited. */
const KEPT: readonly unknown[] = ['start', 'policy', 'rows'];

/**
 * What changes with every grant and policy is read anew: lists, previews, answers.
 * @param leave takes a draft off the page that was carried out: what it would change now is refused, for what it names is gone
 */
export function accessChanged(leave?: () => void): Promise<void> {
  if (leave !== undefined) flushSync(leave);
  return queries.invalidateQueries({ predicate: ({ queryKey }) => !KEPT.includes(queryKey[0]) });
}
