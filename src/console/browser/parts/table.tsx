import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { Schemas } from '../api/client.js';
import { numberText } from '../domain/count-text.js';
import { useAddress } from './address.js';
import { Button, Icon } from './controls.js';
import { Failure } from './notice.js';

export interface Column<T> {
  name: string;
  cell: (item: T) => ReactNode;
  /** Class of its cells: `full` takes the whole width on phones, `num` aligns to the right. */
  className?: string;
  /** The name is read aloud, not shown. */
  isHidden?: boolean;
  /** Shows the name before the value on phones. */
  isLabelled?: boolean;
  /** Type of the values, shown beside the name. */
  type?: string | undefined;
  /** Sort key of the rows: a field, or a function; null sorts last. Without it the column is not sortable. */
  order?: (keyof T & string) | ((item: T) => Key);
}

interface TableProps<T> {
  name: string;
  /** Rows of the engine: dense, wide, and never shown as blocks on phones. */
  isData?: boolean;
  columns: readonly Column<T>[];
  /** Null: still loading. */
  items: readonly T[] | null;
  keyOf: (item: T) => string | number;
  /** The number of all rows when only some have been read; null: unknown. */
  count?: number | null | undefined;
  /** A class for a state of a row. */
  rowClass?: (item: T) => string | undefined;
  /** Reads the next part; called when the last row comes near. */
  more?: (() => void) | undefined;
  sort?: Sort;
}

/** The column that sorts, of those that can, and what a press of a head does. */
interface Sort {
  name: string;
  direction: 'ascending' | 'descending';
  by: (name: string) => void;
}

/** With more rows, only the visible ones are in the DOM. */
const MOST_ROWS = 50;

/** A table. The roles are explicit, because phones show rows as blocks. While it loads it has bars of the final height. */
export function Table<T>({ name, isData, columns, items, keyOf, count, rowClass, more, sort }: TableProps<T>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const all = items ?? [];
  const isLong = all.length > MOST_ROWS;
  const virtual = useWindowVirtualizer({
    count: all.length,
    estimateSize: () => (isData === true ? 29 : 37),
    overscan: 8,
    enabled: isLong,
    scrollMargin: body.current?.offsetTop ?? 0,
    getItemKey: (index) => keyOf(all[index] as T),
  });
  const shown = isLong ? virtual.getVirtualItems().map(({ index }) => index) : all.map((_, index) => index);
  const last = shown.at(-1) ?? 0;
  const isNearEnd = all.length > 0 && last >= all.length - 10;
  useEffect(() => {
    if (isNearEnd) more?.();
  }, [isNearEnd, all.length, more]);
  const [first] = virtual.getVirtualItems();
  const end = virtual.getVirtualItems().at(-1);
  return (
    <table
      className={isData === true ? 'table table--data' : 'table'}
      aria-label={name}
      aria-rowcount={count === null ? -1 : (count ?? all.length) + 1}
      role="table"
    >
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column, at) => (
            <th
              key={at}
              role="columnheader"
              scope="col"
              className={column.className === 'num' ? 'num' : undefined}
              aria-sort={sort?.name === column.name ? sort.direction : undefined}
            >
              {column.order !== undefined && sort !== undefined ? (
                <button type="button" onClick={() => sort.by(column.name)}>
                  {column.name}
                  <Icon name="down" />
                </button>
              ) : column.isHidden === true ? (
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
        {items === null && <SkeletonRows columns={columns.length} />}
        {isLong && first !== undefined && <Spacer height={first.start - virtual.options.scrollMargin} />}
        {shown.map((index) => {
          const item = all[index] as T;
          return (
            <tr
              key={keyOf(item)}
              role="row"
              className={rowClass?.(item)}
              aria-rowindex={index + 2}
              data-index={index}
              ref={isLong ? virtual.measureElement : null}
            >
              {columns.map(({ name: label, className, isLabelled, cell }, at) => (
                <td key={at} role="cell" className={className} data-label={isLabelled === true ? label : undefined}>
                  {cell(item)}
                </td>
              ))}
            </tr>
          );
        })}
        {isLong && end !== undefined && (
          <Spacer height={virtual.getTotalSize() - (end.end - virtual.options.scrollMargin)} />
        )}
      </tbody>
    </table>
  );
}

/** Fills the space of rows that are not in the DOM. */
function Spacer({ height }: { height: number }) {
  return height <= 0 ? null : <tr role="presentation" aria-hidden="true" style={{ height }} />;
}

function SkeletonRows({ columns }: { columns: number }) {
  return Array.from({ length: 5 }, (_, row) => (
    <tr key={row} role="row">
      {Array.from({ length: columns }, (__, column) => (
        <td key={column} role="cell">
          <span className={`skeleton skeleton--${column === 0 ? 'm' : 's'}`} />
        </td>
      ))}
    </tr>
  ));
}

/** A list that is read in pages, as `usePages` gives it. */
export interface Pages<T> {
  query: { error: Error | null; refetch: () => unknown };
  items: readonly T[] | null;
  more?: (() => void) | undefined;
  /** Some have not been read yet. */
  hasMore?: boolean;
}

interface ListingProps<T> extends Omit<TableProps<T>, 'items' | 'more' | 'sort'> {
  list: Pages<T>;
  /** Shown instead of a table without rows. */
  empty: ReactNode;
}

/** The table of a list, why it could not be read, or what to do where it is empty. */
export function Listing<T>({ list, empty, count, ...table }: ListingProps<T>) {
  const { query, items, more, hasMore = false } = list;
  const { sort, sorted } = useSorted(table.columns, items);
  useEffect(() => {
    if (sort.name !== '' && query.error === null) more?.(); // rows that are not read cannot be sorted
  });
  return (
    <>
      {query.error !== null && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {items?.length === 0
        ? empty
        : (items !== null || query.error === null) && (
            <Table {...table} items={sorted} more={more} sort={sort} count={count ?? (hasMore ? null : undefined)} />
          )}
    </>
  );
}

/** The parameter of the address with the sorted column; `-` before it: descending. */
const SORT = 'sort';

/** Rows in the order of a column, which the address names: ascending, then descending, then as they were. */
function useSorted<T>(columns: readonly Column<T>[], items: readonly T[] | null) {
  const { search, change } = useAddress();
  const asked = search.get(SORT) ?? '';
  const [isDescending, wanted] = [asked.startsWith('-'), asked.replace(/^-/, '')];
  const { name = '', order } = columns.find((column) => column.order !== undefined && column.name === wanted) ?? {};
  const sort: Sort = {
    name,
    direction: isDescending ? 'descending' : 'ascending',
    by: (column) => change({ [SORT]: column !== name ? column : isDescending ? '' : `-${column}` }, true),
  };
  const sorted = useMemo(() => {
    if (items === null || order === undefined) return items;
    const keyOf = typeof order === 'function' ? order : (item: T) => item[order] as Key;
    const keyed = items.map((item) => ({ item, key: keyOf(item) }));
    const rows = keyed.filter(({ key }) => key !== null).sort((a, b) => compare(a.key, b.key));
    if (isDescending) rows.reverse();
    return [...rows, ...keyed.filter(({ key }) => key === null)].map(({ item }) => item);
  }, [items, name, isDescending]);
  return { sort, sorted };
}

type Key = string | number | boolean | null;

const COLLATOR = new Intl.Collator('en', { numeric: true });

function compare(a: Key, b: Key): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : COLLATOR.compare(String(a), String(b));
}

interface DataTableProps {
  name: string;
  columns: readonly Schemas['QueryColumn'][];
  rows: readonly (readonly unknown[])[];
  /** Shows the types in the head. */
  isTyped?: boolean;
  /** The column whose values are marked. */
  marked?: string | null;
  /** Reads further rows; null: all have been read. */
  more?: (() => void) | null;
}

/** Rows of the engine as it writes them, in a frame that scrolls sideways by itself. */
export function DataTable({ name, columns, rows, isTyped = false, marked = null, more = null }: DataTableProps) {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label={`${name}, table`}>
      <Table<{ values: readonly unknown[]; at: number }>
        name={name}
        isData
        columns={columns.map(({ name: column, type }, at) => ({
          name: column,
          type: isTyped ? type : undefined,
          ...(/^(tinyint|smallint|integer|bigint|real|double|decimal)\b/.test(type) && { className: 'num' }),
          cell: ({ values }) => (column === marked ? <mark>{valueOf(values[at])}</mark> : valueOf(values[at])),
        }))}
        items={rows.map((values, at) => ({ values, at }))}
        keyOf={({ at }) => at}
        count={more === null ? undefined : null}
        more={more ?? undefined}
      />
    </div>
  );
}

/** As the engine writes it; a container as JSON. */
function valueOf(value: unknown) {
  if (value === null) return <i className="null">NULL</i>;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The first of many, and a button for more. @param most the first number; each press adds ten times as many */
export function useFirst<T>(all: readonly T[], most: number) {
  const [shown, show] = useState(most);
  const step = 10 * most;
  const left = all.length - shown;
  const text = left > step ? `Show ${numberText(step)} of ${numberText(left)} more` : `Show ${numberText(left)} more`;
  const button = left > 0 && <Button text={text} look="small" onClick={() => show(shown + step)} />;
  return [all.slice(0, shown), button] as const;
}
