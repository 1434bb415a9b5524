import type { Rows } from '../api/statements.js';
import { hasColumn, type PolicyForm } from './policy-form.js';

/** Most rows that are shown on each side. */
const SAMPLE = 20;

export interface RowSample {
  sql: string;
  /** Number of rows that the statement has to return at most. */
  most: number;
  /** The visible part of the rows, under the saved policy and under the draft. */
  read: (rows: Rows) => { before: Rows; after: Rows };
}

interface Reason {
  reason: string;
}

/**
 * One statement that shows what a draft of a policy changes in a table: all columns, then the expression of the saved policy and
 * that of the draft; a filter as a condition.
 * @param saved null: the policy is new
 */
export function rowSampleOf(draft: PolicyForm, saved: PolicyForm | null): RowSample | Reason {
  const { catalog, schema, table, kind } = draft;
  if (kind === 'deny') return { reason: 'A deny takes whole tables: there are no rows to compare.' };
  if (table === '') return { reason: 'Name a table to see its rows.' };
  if (hasColumn(kind) && draft.column === '') return { reason: 'Name the column to see its rows.' };
  if (kind !== 'hidden_column' && draft.expression.trim() === '')
    return { reason: 'Write the expression to see its rows.' };
  const sides = [saved !== null && isOfSameTable(saved, draft) ? saved : null, draft] as const;
  const [before, after] = sides.map(expressionOf) as [string, string];
  const isFilter = sides.some((side) => side?.kind === 'row_filter');
  const conditions = sides.map((side, i) => (side?.kind === 'row_filter' ? ([before, after][i] ?? 'true') : 'true'));
  const where = isFilter && !conditions.includes('true') ? ` WHERE ${conditions.join(' OR ')}` : '';
  const most = isFilter ? 5 * SAMPLE : SAMPLE;
  const name = [catalog, schema, table].map((each) => `"${each.replaceAll('"', '""')}"`).join('.');
  return {
    sql: `SELECT *, ${before}, ${after} FROM ${name}${where} LIMIT ${most}`,
    most,
    read: (rows) => ({ before: sideOf(rows, sides[0], 0, draft), after: sideOf(rows, draft, 1, draft) }),
  };
}

function isOfSameTable(saved: PolicyForm, { catalog, schema, table }: PolicyForm): boolean {
  return saved.catalog === catalog && saved.schema === schema && saved.table === table;
}

/** The expression stands on lines of its own, so that a comment at its end stays inside. */
function expressionOf(side: PolicyForm | null): string {
  if (side?.kind === 'row_filter') return `coalesce((\n${side.expression}\n), false)`;
  return side?.kind === 'column_mask' ? `(\n${side.expression}\n)` : 'true';
}

/** The column that the draft masks comes first on both sides. */
function sideOf({ columns, rows }: Rows, side: PolicyForm | null, place: 0 | 1, draft: PolicyForm): Rows {
  const own = columns.length - 2;
  const at = columns.slice(0, own).findIndex(({ name }) => name === side?.column);
  const kept = side?.kind === 'row_filter' ? rows.filter((row) => row[own + place] === true) : rows;
  const first = draft.kind === 'column_mask' ? columns.findIndex(({ name }) => name === draft.column) : -1;
  const isShown = (index: number): boolean =>
    index in columns && index < own && !(side?.kind === 'hidden_column' && index === at);
  const order = [...new Set([first, ...columns.keys()])].filter(isShown);
  return {
    columns: order.flatMap((index) => columns[index] ?? []),
    rows: kept.slice(0, SAMPLE).map((row) => {
      const masked = side?.kind === 'column_mask' ? row.map((value, i) => (i === at ? row[own + place] : value)) : row;
      return order.map((index) => masked[index]);
    }),
  };
}
