import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useDebounced } from '../parts/address.js';
import { api, bodyOf, type Schemas } from './client.js';
import { queryClient } from './session.js';

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
