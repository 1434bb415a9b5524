import type { ReactNode } from 'react';
import { Failure } from './failure.js';
import { Table, type TableProps } from './table.js';

/** A list that is read in pages, as `usePages` gives it. */
export interface Pages<T> {
  query: { error: Error | null; refetch: () => unknown };
  items: readonly T[] | null;
  more?: (() => void) | undefined;
  /** Some have not been read yet. */
  hasMore?: boolean;
}

interface ListingProps<T> extends Omit<TableProps<T>, 'items' | 'more'> {
  list: Pages<T>;
  /** What stands there instead of a table without a row. */
  empty: ReactNode;
}

/** The table of a list, or why it could not be read, or what to do where nothing is in it. */
export function Listing<T>({ list, empty, count, ...table }: ListingProps<T>) {
  const { query, items, more, hasMore = false } = list;
  return (
    <>
      {query.error !== null && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {items?.length === 0
        ? empty
        : (items !== null || query.error === null) && (
            <Table {...table} items={items} more={more} count={count ?? (hasMore ? null : undefined)} />
          )}
    </>
  );
}
