import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { Schemas } from '../api/client.js';
import { numberText } from '../domain/count-text.js';
import { useAddress } from './address.js';
import { Button, Icon } from './controls.js';
import { Moment, Privileges } from './display.js';
import { Failure } from './notice.js';

export interface Column<T> {
  name: string;
  cell: (item: T) => ReactNode;
  /** Class of the column's cells: `full` fills the whole width on phones, `num` aligns to the right. */
  className?: string;
  isNameHidden?: boolean;
  /** Whether the name is shown before the value on phones. */
  isLabelled?: boolean;
  type?: string | undefined;
  /** The sort key: a field, or a function of the row. Null sorts last. Absent: the column is not sortable. */
  sortKey?: (keyof T & string) | ((item: T) => SortKey);
}

/** A sortable column with a moment of each item; null: an empty cell. */
export function momentColumn<K extends string>(name: string, field: K): Column<Record<K, string | null>> {
  const cell = ({ [field]: time }: Record<K, string | null>) => time !== null && <Moment time={time} />;
  return { name, className: 'date', isLabelled: true, sortKey: field, cell };
}

export const PRIVILEGES_COLUMN: Column<{ privileges: readonly string[] }> = {
  name: 'May',
  className: 'may',
  cell: ({ privileges }) => <Privileges names={privileges} />,
};

export function actionColumn<T>(cell: (item: T) => ReactNode): Column<T> {
  return { name: 'Action', className: 'num', isNameHidden: true, cell };
}

interface TableProps<T> {
  name: string;
  /** Whether the rows are query results: dense, wide, and not shown as blocks on phones. */
  isDense?: boolean;
  columns: readonly Column<T>[];
  items: readonly T[] | null;
  keyOf: (item: T) => string | number;
  /** The number of all rows when only some have been read; null: unknown. */
  count?: number | null | undefined;
  rowClass?: (item: T) => string | undefined;
  readMore?: (() => void) | undefined;
  sort?: SortState;
}

interface SortState {
  name: string;
  direction: 'ascending' | 'descending';
  sortBy: (name: string) => void;
}

/** The most rows of a table that is wholly in the DOM. Of longer tables only the visible rows are in the DOM. */
const MAX_RENDERED_ROWS = 50;

/** A table. Its ARIA roles are explicit, because on phones CSS shows rows as blocks, which would remove the implicit roles. */
export function Table<T>({ name, isDense, columns, items, keyOf, count, rowClass, readMore, sort }: TableProps<T>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const allItems = items ?? [];
  const isLong = allItems.length > MAX_RENDERED_ROWS;
  const virtualizer = useWindowVirtualizer({
    count: allItems.length,
    estimateSize: () => (isDense === true ? 29 : 37),
    overscan: 8,
    enabled: isLong,
    scrollMargin: (body.current?.getBoundingClientRect().top ?? 0) + scrollY,
    getItemKey: (index) => keyOf(allItems[index] as T),
  });
  const virtualRows = virtualizer.getVirtualItems();
  const visibleIndexes = isLong ? virtualRows.map(({ index }) => index) : [...allItems.keys()];
  const lastVisibleIndex = visibleIndexes.at(-1) ?? 0;
  const isNearEnd = allItems.length > 0 && lastVisibleIndex >= allItems.length - 10;
  useEffect(() => {
    if (isNearEnd) readMore?.();
  }, [isNearEnd, allItems.length, readMore]);
  const [firstRow, lastRow] = [virtualRows[0], virtualRows.at(-1)];
  return (
    <table
      className={isDense === true ? 'table table--data' : 'table'}
      aria-label={name}
      aria-rowcount={count === null ? -1 : (count ?? allItems.length) + 1}
      role="table"
    >
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column, index) => (
            <th
              key={index}
              role="columnheader"
              scope="col"
              className={column.className === 'num' ? 'num' : undefined}
              aria-sort={sort?.name === column.name ? sort.direction : undefined}
            >
              {column.sortKey !== undefined && sort !== undefined ? (
                <button type="button" onClick={() => sort.sortBy(column.name)}>
                  {column.name}
                  <Icon name="down" />
                </button>
              ) : column.isNameHidden === true ? (
                <span className="hidden">{column.name}</span>
              ) : (
                column.name
              )}
              {column.type !== undefined && <small> {column.type}</small>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup" ref={body}>
        {items === null && <SkeletonRows columnCount={columns.length} />}
        {isLong && firstRow !== undefined && <Spacer height={firstRow.start - virtualizer.options.scrollMargin} />}
        {visibleIndexes.map((index) => {
          const item = allItems[index] as T;
          return (
            <tr
              key={keyOf(item)}
              role="row"
              className={rowClass?.(item)}
              aria-rowindex={index + 2}
              data-index={index}
              ref={isLong ? virtualizer.measureElement : null}
            >
              {columns.map(({ name: label, className, isLabelled, cell }, index) => (
                <td key={index} role="cell" className={className} data-label={isLabelled === true ? label : undefined}>
                  {cell(item)}
                </td>
              ))}
            </tr>
          );
        })}
        {isLong && lastRow !== undefined && (
          <Spacer height={virtualizer.getTotalSize() - (lastRow.end - virtualizer.options.scrollMargin)} />
        )}
      </tbody>
    </table>
  );
}

/** An empty row as high as the rows that are not in the DOM. */
function Spacer({ height }: { height: number }) {
  return height <= 0 ? null : <tr role="presentation" aria-hidden="true" style={{ height }} />;
}

function SkeletonRows({ columnCount }: { columnCount: number }) {
  return Array.from({ length: 5 }, (_, row) => (
    <tr key={row} role="row">
      {Array.from({ length: columnCount }, (__, column) => (
        <td key={column} role="cell">
          <span className={`skeleton skeleton--${column === 0 ? 'm' : 's'}`} />
        </td>
      ))}
    </tr>
  ));
}

/** A list that is read in pages, as returned by `usePages`. */
export interface PagedList<T> {
  query: { error: Error | null; refetch: () => unknown };
  items: readonly T[] | null;
  readMore?: (() => void) | undefined;
  hasMore?: boolean;
}

interface ListingProps<T> extends Omit<TableProps<T>, 'items' | 'sort'> {
  list: PagedList<T>;
  emptyState: ReactNode;
}

/** The table of a list, or the failure to read it, or `emptyState` for an empty list. */
export function Listing<T>({ list, emptyState, count, ...table }: ListingProps<T>) {
  const { query, items, readMore, hasMore = false } = list;
  const { sort, sortedItems } = useSortedItems(table.columns, items);
  const rowCount = count ?? (hasMore ? null : undefined);
  useEffect(() => {
    if (sort.name !== '' && query.error === null) readMore?.(); // rows that are not read cannot be sorted
  });
  return (
    <>
      {query.error !== null && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {items?.length === 0
        ? emptyState
        : (items !== null || query.error === null) && (
            <Table {...table} items={sortedItems} readMore={readMore} sort={sort} count={rowCount} />
          )}
    </>
  );
}

/** Rows sorted by the column in the address, which stands after `-` if descending. Clicks on a column head sort ascending, then descending, then restore the original order. */
function useSortedItems<T>(columns: readonly Column<T>[], items: readonly T[] | null) {
  const { search, change } = useAddress();
  const sortValue = search.get('sort') ?? '';
  const [isDescending, columnName] = [sortValue.startsWith('-'), sortValue.replace(/^-/, '')];
  const { name = '', sortKey } = columns.find((each) => each.sortKey !== undefined && each.name === columnName) ?? {};
  const sort: SortState = {
    name,
    direction: isDescending ? 'descending' : 'ascending',
    sortBy: (column) => change({ sort: column !== name ? column : isDescending ? '' : `-${column}` }, true),
  };
  const sortedItems = useMemo(() => {
    if (items === null || sortKey === undefined) return items;
    const keyOf = typeof sortKey === 'function' ? sortKey : (item: T) => item[sortKey] as SortKey;
    const keyedItems = items.map((item) => ({ item, key: keyOf(item) }));
    const rows = keyedItems.filter(({ key }) => key !== null).sort((a, b) => compareKeys(a.key, b.key));
    if (isDescending) rows.reverse();
    return [...rows, ...keyedItems.filter(({ key }) => key === null)].map(({ item }) => item);
  }, [items, name, isDescending]);
  return { sort, sortedItems };
}

type SortKey = string | number | boolean | null;

const COLLATOR = new Intl.Collator('en', { numeric: true });

function compareKeys(a: SortKey, b: SortKey): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : COLLATOR.compare(String(a), String(b));
}

interface DataTableProps {
  name: string;
  columns: readonly Schemas['QueryColumn'][];
  rows: readonly (readonly unknown[])[];
  hasTypes?: boolean;
  markedColumn?: string | null;
  /** Reads further rows; null: all have been read. */
  readMore?: (() => void) | null;
}

/** Query results, in a frame with its own horizontal scroll bar. */
export function DataTable({ name, columns, rows, hasTypes = false, markedColumn, readMore = null }: DataTableProps) {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label={`${name}, table`}>
      <Table<{ values: readonly unknown[]; index: number }>
        name={name}
        isDense
        columns={columns.map(({ name: column, type }, columnIndex) => ({
          name: column,
          type: hasTypes ? type : undefined,
          ...(/^(tinyint|smallint|integer|bigint|real|double|decimal)\b/.test(type) && { className: 'num' }),
          cell: ({ values }) => renderValue(values[columnIndex], column === markedColumn),
        }))}
        items={rows.map((values, index) => ({ values, index }))}
        keyOf={({ index }) => index}
        count={readMore === null ? undefined : null}
        readMore={readMore ?? undefined}
      />
    </div>
  );
}

function renderValue(value: unknown, isMarked = false): ReactNode {
  if (isMarked) return <mark>{renderValue(value)}</mark>;
  if (value === null) return <i className="null">NULL</i>;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The first entries of a list, and a button for more. @param initialCount the number of entries shown at first; each press adds ten times as many */
export function useShowMore<T>(items: readonly T[], initialCount: number) {
  const [count, setCount] = useState(initialCount);
  const step = 10 * initialCount;
  const hiddenCount = items.length - count;
  const text = `Show ${hiddenCount > step ? `${numberText(step)} of ` : ''}${numberText(hiddenCount)} more`;
  const button = hiddenCount > 0 && <Button text={text} look="small" onClick={() => setCount(count + step)} />;
  return [items.slice(0, count), button] as const;
}
