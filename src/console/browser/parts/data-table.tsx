import type { Schemas } from '../api/client.js';
import { Cell, Table } from './table.js';

interface DataTableProps {
  name: string;
  columns: readonly Schemas['QueryColumn'][];
  rows: readonly (readonly unknown[])[];
  /** Types stand in the head. */
  isTyped?: boolean;
  /** The column whose values are marked. */
  marked?: string | null;
  /** Some rows have not been read yet, and how to read on. */
  more?: (() => void) | null;
}

/** Rows of the engine as it writes them, in a frame that scrolls sideways by itself. */
export function DataTable({ name, columns, rows, isTyped = false, marked = null, more = null }: DataTableProps) {
  const shown = columns.map(({ name: column, type }) => ({
    name: column,
    ...(isTyped && { type }),
    isNumber: /^(tinyint|smallint|integer|bigint|real|double|decimal)\b/.test(type),
  }));
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label={`${name}, table`}>
      <Table
        name={name}
        isData
        columns={shown}
        items={rows.map((values, at) => ({ values, at }))}
        keyOf={({ at }) => at}
        count={more === null ? undefined : null}
        more={more ?? undefined}
        cells={({ values }) =>
          values.map((value, at) => (
            <Cell key={at} {...(shown[at]?.isNumber === true && { className: 'num' })}>
              {columns[at]?.name === marked ? <mark>{valueOf(value)}</mark> : valueOf(value)}
            </Cell>
          ))
        }
      />
    </div>
  );
}

/** As the engine writes it; a container as JSON. */
function valueOf(value: unknown) {
  if (value === null) return <i className="null">NULL</i>;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
