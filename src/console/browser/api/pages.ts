import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { numberText } from '../domain/count-text.js';

/** The query parameters for one page, which every route of a list accepts. */
export interface PageQuery {
  limit: number;
  after?: string;
}

interface PagesOptions<T> {
  /** Whether the former list is shown until the next search result arrives. The search is the last part of the key. */
  isPreviousKept?: boolean;
  /** Whether further pages are read at once, because the browser filters the list. Default: only as the list is scrolled. */
  isReadToEnd?: boolean | ((items: readonly T[], pageCount: number) => boolean);
  isEnabled?: boolean;
  staleTime?: number;
  /** The number of entries on one page; most routes return at most 200. */
  limit?: number;
}

/** Shows the former answer until the new one arrives, if only the last part of the key has changed, such as the text of a search. */
export function keepFormerSearch(key: QueryKey) {
  const questionOf = (queryKey: QueryKey): string => JSON.stringify(queryKey.slice(0, -1));
  return <T>(formerAnswer: T | undefined, formerQuery: { queryKey: QueryKey } | undefined): T | undefined =>
    formerQuery !== undefined && questionOf(formerQuery.queryKey) === questionOf(key) ? formerAnswer : undefined;
}

/** A list that the API gives in pages. Further pages are read as the list is scrolled. */
export function usePages<P extends { items: unknown[]; next: string | number | null }>(
  key: QueryKey,
  readPage: (page: PageQuery) => Promise<P>,
  options: PagesOptions<P['items'][number]> = {},
) {
  const { isPreviousKept = false, isReadToEnd = false, isEnabled = true, limit = 200, staleTime } = options;
  const query = useInfiniteQuery({
    queryKey: key,
    enabled: isEnabled,
    queryFn: ({ pageParam }) => readPage({ limit, ...(pageParam !== undefined && { after: pageParam }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : String(next)),
    ...(staleTime !== undefined && { staleTime }),
    ...(isPreviousKept && { placeholderData: keepFormerSearch(key) }),
  });
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query;
  // After a failure nothing more is read until *Retry*; otherwise a list that is shown to its end would ask again at once, and forever.
  const readMore =
    hasNextPage && !isFetching && !isFetchNextPageError
      ? () => void fetchNextPage({ cancelRefetch: false })
      : undefined;
  const items = query.data?.pages.flatMap((page): P['items'] => page.items) as P['items'] | undefined;
  const pageCount = query.data?.pages.length ?? 0;
  const isMoreNeeded = typeof isReadToEnd === 'function' ? isReadToEnd(items ?? [], pageCount) : isReadToEnd;
  useEffect(() => {
    if (isMoreNeeded) readMore?.();
  });
  return {
    query: isFetchNextPageError ? { ...query, refetch: () => fetchNextPage() } : query,
    /** The entries of all pages read so far; null until the first page has been read. */
    items: items ?? null,
    first: query.data?.pages[0],
    pageCount,
    readMore,
    hasMore: hasNextPage,
  };
}

/** The number of entries read so far: *12*, or *200+* if there are more. */
export function loadedCountText({ items, hasMore }: { items: readonly unknown[] | null; hasMore: boolean }) {
  return items === null ? undefined : `${numberText(items.length)}${hasMore ? '+' : ''}`;
}
