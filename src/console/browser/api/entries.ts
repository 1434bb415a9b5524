import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { flushSync } from 'react-dom';
import { useDebounced } from '../parts/address.js';
import { api, bodyOf, isProblem, type Schemas, versionedBodyOf } from './client.js';
import { type PageQuery, usePages } from './pages.js';
import type { paths } from './schema.js';
import { queryClient } from './session.js';

export type Grant = Schemas['GrantResponse'];
export type Policy = Schemas['PolicyResponse'];

type QueryOf<P extends '/api/admin/grants' | '/api/admin/policies'> = NonNullable<
  paths[P]['get']['parameters']['query']
>;

export function useGrants(query: QueryOf<'/api/admin/grants'>, isEnabled = true) {
  return usePages(
    ['grants', query],
    (page) => bodyOf(api.GET('/api/admin/grants', { params: { query: { ...query, ...page } } })),
    { isEnabled },
  );
}

/** The grant with an id, as a list. The list is empty if there is no such grant. */
export function useOneGrant(id: string | undefined) {
  const readPage = async (): Promise<Schemas['GrantPageResponse']> => {
    try {
      const params = { path: { id: Number(id) } };
      return { items: [await bodyOf(api.GET('/api/admin/grants/{id}', { params }))], next: null };
    } catch (problem) {
      if (isProblem(problem, 'not_found')) return { items: [], next: null };
      throw problem;
    }
  };
  return usePages(['grants', 'one', id], readPage, { isEnabled: id !== undefined });
}

/** Live grants that no request has used in the last `days` days, according to OPA's decision logs. */
export function useUnusedGrants(days: string | undefined) {
  const readPage = async (page: PageQuery): Promise<Schemas['GrantPageResponse']> => {
    const query = { ...page, days: Number(days) };
    const { items, next } = await bodyOf(api.GET('/api/admin/access/unused', { params: { query } }));
    return { items: items.map(({ grant }) => grant), next };
  };
  return usePages(['grants', 'unused', days], readPage, { isEnabled: days !== undefined });
}

export function usePolicies(query: QueryOf<'/api/admin/policies'>) {
  return usePages(['policies', query], (page) =>
    bodyOf(api.GET('/api/admin/policies', { params: { query: { ...query, ...page } } })),
  );
}

/** First words of the cache keys of data that `refreshAccess` does not reload. A form may be editing the data of `policy` and `guarantee`. */
const UNAFFECTED_KEYS: readonly unknown[] = ['start', 'policy', 'guarantee', 'rows'];

/**
 * Reloads all data that grants and policies affect: lists, previews, answers.
 * @param leavePage called before the reload. It leaves the page of a saved draft, because the preview of a saved draft would be refused
 */
export function refreshAccess(leavePage?: () => void): Promise<void> {
  if (leavePage !== undefined) flushSync(leavePage);
  return queryClient.invalidateQueries({ predicate: ({ queryKey }) => !UNAFFECTED_KEYS.includes(queryKey[0]) });
}

type AuditQuery = NonNullable<paths['/api/admin/audit']['get']['parameters']['query']>;

/** One page of the audit trail, newest events first. */
export function readAuditPage(query: Omit<AuditQuery, 'format'>): Promise<Schemas['AuditPage']> {
  // The OpenAPI document also declares CSV, for `format=csv`.
  return bodyOf(api.GET('/api/admin/audit', { params: { query } })) as Promise<Schemas['AuditPage']>;
}

/** The address of the audit trail as a CSV file. */
export function auditFileAddress(query: AuditQuery): string {
  const parameters = new URLSearchParams(
    Object.entries({ ...query, format: 'csv' }).map(([name, value]) => [name, `${value}`]),
  );
  return `/api/admin/audit?${parameters.toString()}`;
}

/** The name of the person who changed a policy last. Undefined if it is unknown, or if the command line did it. */
export function useLastActor({ id, changed_at: changedAt }: Policy): string | undefined {
  const { data } = useQuery({
    queryKey: ['audit', 'last-of', 'policy', id, changedAt],
    queryFn: () => readAuditPage({ subject: `policy:${id}`, limit: 1 }),
  });
  return data?.items[0]?.actor?.name;
}

export function useGuarantees() {
  return usePages(['guarantees'], (page) => bodyOf(api.GET('/api/admin/guarantees', { params: { query: page } })), {
    isReadToEnd: true,
  });
}

export const readGuarantee = (id: number) =>
  versionedBodyOf(api.GET('/api/admin/guarantees/{id}', { params: { path: { id } } }));

/** One guarantee with its version. */
export function useGuarantee(id: number) {
  return useQuery({ queryKey: ['guarantees', id], queryFn: () => readGuarantee(id) });
}

/**
 * The verdict on an unsaved guarantee, by the present grants. The former verdict is shown until the new one arrives.
 * @param guarantee null: the guarantee is incomplete, and has no verdict
 */
export function useJudgement(guarantee: Schemas['GuaranteeDto'] | null) {
  // Replaces fields that do not change the verdict, so that typing a name sends no request.
  const json = JSON.stringify(guarantee && { ...guarantee, name: '-', description: undefined, mode: 'reported' });
  const debouncedJson = useDebounced(json, 300);
  const { data, error, refetch, isPlaceholderData, isFetching } = useQuery({
    queryKey: ['judgement', debouncedJson],
    enabled: debouncedJson !== 'null',
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const guarantees = [JSON.parse(debouncedJson) as Schemas['GuaranteeDto']];
      return (await bodyOf(api.POST('/api/admin/guarantees/check', { body: { guarantees }, signal }))).guarantees[0];
    },
  });
  return {
    judgement: json === 'null' || error !== null ? null : (data ?? null),
    isJudging: json !== 'null' && (json !== debouncedJson || isPlaceholderData || (isFetching && data === undefined)),
    error: json === debouncedJson ? error : null,
    retry: () => void refetch(),
  };
}

export type Draft = Schemas['DraftDto'];
export type Preview = Schemas['DraftPreviewResponse'];

/**
 * The preview of a draft, read again whenever the draft changes. The former preview is shown until the new one arrives.
 * @param draft null: the draft is incomplete, and has no preview
 * @param isBeingSaved whether the draft is being saved. Nothing is read meanwhile: the preview of a saved change would be refused
 */
export function usePreview(draft: Draft | null, isBeingSaved = false) {
  const draftJson = JSON.stringify(draft);
  const debouncedJson = useDebounced(draftJson, 150);
  const query = useInfiniteQuery({
    queryKey: ['draft', debouncedJson],
    enabled: debouncedJson !== 'null' && !isBeingSaved,
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
    queryFn: ({ pageParam, signal }) =>
      bodyOf(
        api.POST('/api/admin/access/preview', {
          params: { query: { limit: 1000, ...(pageParam !== null && { after: pageParam }) } },
          body: JSON.parse(debouncedJson) as Draft,
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  useEffect(() => {
    if (isBeingSaved) void queryClient.cancelQueries({ queryKey: ['draft'] });
  }, [isBeingSaved]);
  const isDebounced = draftJson === debouncedJson;
  const isDraftComplete = draftJson !== 'null' && debouncedJson !== 'null';
  const { isFetching, isPlaceholderData, error, refetch } = query;
  return {
    preview: isDraftComplete && error === null ? joinPages(query.data?.pages) : null,
    isComputing:
      draftJson !== 'null' && (!isDebounced || isPlaceholderData || (isFetching && query.data === undefined)),
    error: isDebounced ? error : null,
    retry: () => void refetch(),
    readMore: query.hasNextPage && !isFetching ? () => void query.fetchNextPage() : undefined,
  };
}

function joinPages(pages: readonly Preview[] | undefined): Preview | null {
  const [firstPage] = pages ?? [];
  if (pages === undefined || firstPage === undefined) return null;
  return {
    ...firstPage,
    gains: pages.flatMap(({ gains }) => gains),
    loses: pages.flatMap(({ loses }) => loses),
    unchanged: pages.flatMap(({ unchanged }) => unchanged),
  };
}
