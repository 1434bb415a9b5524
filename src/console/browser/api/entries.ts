import { useQuery } from '@tanstack/react-query';
import { flushSync } from 'react-dom';
import { api, bodyOf, isProblem, type Schemas } from './client.js';
import { usePages } from './pages.js';
import type { paths } from './schema.js';
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

/** One grant, as a list; empty if the id is unknown. */
export function useOneGrant(id: string | undefined) {
  const read = async (): Promise<Schemas['GrantPageResponse']> => {
    try {
      const params = { path: { id: Number(id) } };
      return { items: [await bodyOf(api.GET('/api/admin/grants/{id}', { params }))], next: null };
    } catch (problem) {
      if (isProblem(problem, 'not_found')) return { items: [], next: null };
      throw problem;
    }
  };
  return usePages(['grants', 'one', id], read, { isEnabled: id !== undefined });
}

/** Policies, by filters. */
export function usePolicies(query: QueryOf<'/api/admin/policies'>) {
  return usePages(['policies', query], (page) =>
    bodyOf(api.GET('/api/admin/policies', { params: { query: { ...query, ...page } } })),
  );
}

/** Queries that no grant changes: the person who is signed in, and the policy or guarantee that is being edited. */
const KEPT: readonly unknown[] = ['start', 'policy', 'guarantee', 'rows'];

/**
 * Reads everything again that grants and policies change: lists, previews, answers.
 * @param leave closes a draft that was carried out, first: its preview would be refused now
 */
export function refreshAccess(leave?: () => void): Promise<void> {
  if (leave !== undefined) flushSync(leave);
  return queries.invalidateQueries({ predicate: ({ queryKey }) => !KEPT.includes(queryKey[0]) });
}

type AuditQuery = NonNullable<paths['/api/admin/audit']['get']['parameters']['query']>;

/** A part of the audit trail, newest first. */
export function readAuditPage(query: Omit<AuditQuery, 'format'>): Promise<Schemas['AuditPage']> {
  // The OpenAPI document also declares CSV, for `format=csv`.
  return bodyOf(api.GET('/api/admin/audit', { params: { query } })) as Promise<Schemas['AuditPage']>;
}

/** The address of the whole trail as a file. */
export function auditFile(query: AuditQuery): string {
  const asked = new URLSearchParams(
    Object.entries({ ...query, format: 'csv' }).map(([name, value]) => [name, `${value}`]),
  );
  return `/api/admin/audit?${asked.toString()}`;
}

/**
 * The name of the person who changed a policy last.
 * @param at the time of that change, part of the cache key
 * @returns undefined: unknown, or the command line
 */
export function useLastActor(id: number, at: string): string | undefined {
  const { data } = useQuery({
    queryKey: ['audit', 'last-of', 'policy', id, at],
    queryFn: () => readAuditPage({ subject: `policy:${id}`, limit: 1 }),
  });
  return data?.items[0]?.actor?.name;
}
