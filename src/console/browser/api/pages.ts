import { keepPreviousData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { numberText } from '../domain/count-text.js';

interface PageOf {
  items: unknown[];
  next: string | number | null;
}

/** A part of a list, as every route of a list takes it. */
export interface PageQuery {
  limit: number;
  after?: string;
}

interface PagesOptions {
  /** The former answer stays until the next arrives: for lists that are searched. */
  isKept?: boolean;
  /** Read to its end, because the browser searches it. */
  isWhole?: boolean;
  isEnabled?: boolean;
  /** Entries of one page; most routes give at most 200. */
  limit?: number;
}

/** A list that the API gives in pages, read as far as somebody has scrolled. */
export function usePages<P extends PageOf>(
  key: QueryKey,
  read: (page: PageQuery) => Promise<P>,
  { isKept = false, isWhole = false, isEnabled = true, limit = 200 }: PagesOptions = {},
) {
  const query = useInfiniteQuery({
    queryKey: key,
    enabled: isEnabled,
    queryFn: ({ pageParam }) => read({ limit, ...(pageParam !== undefined && { after: pageParam }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : String(next)),
    ...(isKept && { placeholderData: keepPreviousData }),
  });
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query;
  const more = hasNextPage && !isFetching ? () => void fetchNextPage() : undefined;
  useEffect(() => {
    if (isWhole && !isFetchNextPageError) more?.();
  });
  return {
    query,
    /** Null: none has been read yet. */
    items: (query.data?.pages.flatMap((page): P['items'] => page.items) as P['items'] | undefined) ?? null,
    /** The first page, for its totals. */
    first: query.data?.pages[0],
    more,
    hasMore: hasNextPage,
  };
}

/** The number of entries read, and whether there are more: *12*, *200+*. */
export function countOf({ items, hasMore }: { items: readonly unknown[] | null; hasMore: boolean }) {
  return items === null ? undefined : `${numberText(items.length)}${hasMore ? '+' : ''}`;
}
