import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { numberText } from '../domain/count-text.js';

export interface Column {
  name: string;
  /** Read aloud, not shown. */
  isHidden?: boolean;
  isNumber?: boolean;
  /** Of the values, beside the name. */
  type?: string;
}

export interface TableProps<T> {
  name: string;
  /** Rows of the engine as they are: close, wide, and never as blocks. */
  isData?: boolean;
  columns: readonly Column[];
  /** Null: still loading. */
  items: readonly T[] | null;
  keyOf: (item: T) => string | number;
  /** The cells of a row. */
  cells: (item: T) => ReactNode;
  /** Of all rows, where a part of them has been read; null: not known. */
  count?: number | null | undefined;
  /** A state of a row that has a ground of its own. */
  rowClass?: (item: T) => string | undefined;
  /** Reads the next part, once the last row of this one is near. */
  more?: (() => void) | undefined;
}

/** Above so many rows, those that are out of sight are not in the page's tree. */
const MOST_ROWS = 50;

/**
 * A table by its fixed name. The roles are written out, because phones show rows as blocks. While it loads there are bars of
 * the final height.
 */
export function Table<T>({ name, isData, columns, items, keyOf, cells, count, rowClass, more }: TableProps<T>) {
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
            <th key={at} role="columnheader" scope="col" className={column.isNumber === true ? 'num' : undefined}>
              {column.isHidden === true ? <span className="hidden">{column.name}</span> : column.name}
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
              {cells(item)}
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

/** Stands for the rows that are not in the tree. */
function Spacer({ height }: { height: number }) {
  return height <= 0 ? null : <tr role="presentation" aria-hidden="true" style={{ height }} />;
}

function SkeletonRows({ columns }: { columns: number }) {
  return Array.from({ length: 5 }, (_, row) => (
    <tr key={row} role="row">
      {Array.from({ length: columns }, (__, column) => (
        <Cell key={column}>
          <span className={`skeleton skeleton--${column === 0 ? 'm' : 's'}`} />
        </Cell>
      ))}
    </tr>
  ));
}

export function Cell({ children, ...rest }: { children?: ReactNode; className?: string; 'data-label'?: string }) {
  return (
    <td role="cell" {...rest}>
      {children}
    </td>
  );
}

/** The first of many, and a button for more of them. @param most how many at first; ten times as many with each press */
export function useFirst<T>(all: readonly T[], most: number) {
  const [shown, show] = useState(most);
  const step = 10 * most;
  const left = all.length - shown;
  const button = left > 0 && (
    <button className="button button--small" type="button" onClick={() => show(shown + step)}>
      Show {left > step ? `${numberText(step)} of ` : ''}
      {numberText(left)} more
    </button>
  );
  return [all.slice(0, shown), button] as const;
}
