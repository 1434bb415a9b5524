import { useMutation, useQuery } from '@tanstack/react-query';
import { api, bodyOf, oneAtATime, type Schemas } from './client.js';
import { usePages } from './pages.js';
import { queries, useInterruption } from './session.js';

export type Entry = Schemas['PublicationPageResponse']['items'][number];
export type Version = Schemas['PublicationSummaryResponse'];
export type Run = Schemas['PastRunResponse'];

/** Milliseconds between two requests; an unchanged status is answered with 304. */
const FRESH = 5_000;

/** The published and the live version, the change that waits, and the next run. */
export function usePublishingStatus(isEnabled = true) {
  const isInterrupted = useInterruption() !== null;
  return useQuery({
    queryKey: ['publishing', 'status'],
    enabled: isEnabled && !isInterrupted,
    refetchInterval: FRESH,
    staleTime: FRESH,
    queryFn: () => bodyOf(api.GET('/api/admin/acl/status')),
  });
}

/** Versions, and the runs that published none, newest first. */
export function useHistory(version: number | undefined) {
  return usePages(
    ['publishing', 'history', version],
    (page) => bodyOf(api.GET('/api/admin/acl/publications', { params: { query: { runs: 'all', ...page } } })),
    { isKept: true },
  );
}

/** One version with its text. @param against the version that it is compared with; undefined: the one before */
export function useVersion(version: number, against: number | undefined, isEnabled = true) {
  const params = { path: { version }, query: against === undefined ? {} : { against } };
  return useQuery({
    queryKey: ['publishing', 'version', version, against],
    enabled: isEnabled,
    queryFn: () => oneAtATime(() => bodyOf(api.GET('/api/admin/acl/publications/{version}', { params }))),
  });
}

/** The text that a run would publish now; if a change waits, that change. */
export function useCandidate(hash: string | undefined) {
  return useQuery({
    queryKey: ['publishing', 'candidate', hash],
    enabled: hash !== undefined,
    staleTime: Infinity,
    queryFn: () => oneAtATime(() => bodyOf(api.POST('/api/admin/acl/preview'))),
  });
}

export async function approve(hash: string): Promise<void> {
  await bodyOf(api.POST('/api/admin/acl/approvals', { body: { hash } }));
  await refresh();
}

export function usePublishNow() {
  return useMutation({ mutationFn: () => bodyOf(api.POST('/api/admin/acl/sync')), onSettled: refresh });
}

export async function restore(version: number, reason: string, hours: number): Promise<Schemas['SyncResponse']> {
  const params = { path: { version } };
  const result = await bodyOf(
    api.POST('/api/admin/acl/publications/{version}/restore', { params, body: { reason, hours } }),
  );
  await refresh();
  return result;
}

export async function endRestore(): Promise<void> {
  await bodyOf(api.DELETE('/api/admin/acl/restore'));
  await refresh();
}

function refresh(): Promise<void> {
  return queries.invalidateQueries({ queryKey: ['publishing'] });
}
