import { useMutation, useQuery } from '@tanstack/react-query';
import { api, bodyOf, runInTurn, type Schemas } from './client.js';
import { usePages } from './pages.js';
import { queryClient, useInterruption } from './session.js';

export type HistoryEntry = Schemas['PublicationPageResponse']['items'][number];
export type Version = Schemas['PublicationSummaryResponse'];
export type Run = Schemas['PastRunResponse'];

/** Time between two requests of the status. An unchanged status is answered with 304. */
const POLL_MS = 5_000;

/** The status of publishing: the published and the live version, the change that waits for an approval, and the next run. */
export function usePublishingStatus(isEnabled = true) {
  const isInterrupted = useInterruption() !== null;
  return useQuery({
    queryKey: ['publishing', 'status'],
    enabled: isEnabled && !isInterrupted,
    refetchInterval: POLL_MS,
    staleTime: POLL_MS,
    queryFn: () => bodyOf(api.GET('/api/admin/acl/status')),
  });
}

/**
 * The history of publishing: versions, and runs that published no version, newest first.
 * @param status a new version in it, or a run that was refused or failed, reloads the list
 */
export function usePublishingHistory(status: Schemas['StatusResponse'] | undefined) {
  const { published, last_outcome: outcome, last_run_at: lastRunAt } = status ?? {};
  const newestEntry = outcome === 'refused' || outcome === 'failed' ? lastRunAt : published?.version;
  return usePages(
    ['publishing', 'history', newestEntry],
    (page) => bodyOf(api.GET('/api/admin/acl/publications', { params: { query: { runs: 'all', ...page } } })),
    { isPreviousKept: true },
  );
}

/** One published version with its rules text. @param comparedVersion the version to compare with; undefined: the previous one */
export function useVersion(version: number, comparedVersion: number | undefined, isEnabled = true) {
  const params = { path: { version }, query: comparedVersion === undefined ? {} : { against: comparedVersion } };
  return useQuery({
    queryKey: ['publishing', 'version', version, comparedVersion],
    enabled: isEnabled,
    queryFn: () => runInTurn(() => bodyOf(api.GET('/api/admin/acl/publications/{version}', { params }))),
  });
}

/** The version that a run would publish now, or that waits for an approval. */
export function useCandidate(hash: string | undefined) {
  return useQuery({
    queryKey: ['publishing', 'candidate', hash],
    enabled: hash !== undefined,
    staleTime: Infinity,
    queryFn: () => runInTurn(() => bodyOf(api.POST('/api/admin/acl/preview'))),
  });
}

export function usePublishNow() {
  return useMutation({ mutationFn: () => bodyOf(api.POST('/api/admin/acl/sync')), onSettled: refreshPublishing });
}

export function refreshPublishing(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ['publishing'] });
}
