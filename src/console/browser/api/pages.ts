import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

interface PageOf<T> {
  items: T[];
  next: string | number | null;
}

/** A list that the API gives in pages, read as far as somebody has scrolled. */
export function usePages<T>(key: QueryKey, read: (after: string | undefined) => Promise<PageOf<T>>) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => (next === null ? undefined : String(next)),
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  return {
    query,
    /** Null: none has been read yet. */
    items: query.data?.pages.flatMap(({ items }) => items) ?? null,
    more: hasNextPage && !isFetchingNextPage ? () => void fetchNextPage() : undefined,
    hasMore: hasNextPage,
  };
}
