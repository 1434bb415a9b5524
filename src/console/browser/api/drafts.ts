import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useSettled } from '../parts/address.js';
import { api, bodyOf, type Schemas } from './client.js';
import { queries } from './session.js';

export type Draft = Schemas['DraftDto'];
export type Preview = Schemas['DraftPreviewResponse'];

/** People and engine principals of one page; most drafts have one. */
const PAGE = 1000;
/** Milliseconds without a change before a draft is previewed. */
const PAUSE = 150;

/**
 * The preview of a draft, read again whenever the draft changes. The last answer stays until the next arrives.
 * @param draft null: incomplete @param isCarriedOut no preview is read meanwhile: the entries of the draft may be gone
 */
export function usePreview(draft: Draft | null, isCarriedOut = false) {
  const text = JSON.stringify(draft);
  const settled = useSettled(text, PAUSE);
  const query = useInfiniteQuery({
    queryKey: ['draft', settled],
    enabled: settled !== 'null' && !isCarriedOut,
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
    queryFn: ({ pageParam, signal }) =>
      bodyOf(
        api.POST('/api/admin/access/preview', {
          params: { query: { limit: PAGE, ...(pageParam !== null && { after: pageParam }) } },
          body: JSON.parse(settled) as Draft,
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  useEffect(() => {
    if (isCarriedOut) void queries.cancelQueries({ queryKey: ['draft'] });
  }, [isCarriedOut]);
  const isAsked = text !== 'null' && settled !== 'null';
  const { isFetching, isPlaceholderData, error, refetch } = query;
  return {
    preview: isAsked && error === null ? joined(query.data?.pages) : null,
    /** The preview is not that of this draft yet. */
    isComputing: text !== 'null' && (text !== settled || isPlaceholderData || (isFetching && query.data === undefined)),
    error: text === settled ? error : null,
    retry: () => void refetch(),
    more: query.hasNextPage && !isFetching ? () => void query.fetchNextPage() : undefined,
  };
}

function joined(pages: readonly Preview[] | undefined): Preview | null {
  const [first] = pages ?? [];
  if (pages === undefined || first === undefined) return null;
  return {
    ...first,
    gains: pages.flatMap(({ gains }) => gains),
    loses: pages.flatMap(({ loses }) => loses),
    unchanged: pages.flatMap(({ unchanged }) => unchanged),
  };
}
