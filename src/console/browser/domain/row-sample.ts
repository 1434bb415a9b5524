import type { Rows } from '../api/statements.js';
import { hasColumn, type PolicyForm } from './policy-form.js';

const MAX_SHOWN_ROWS = 20;

export interface RowSample {
  sql: string;
  maxRows: number;
  splitRows: (rows: Rows) => { before: Rows; after: Rows };
}

/**
 * One statement that shows what a draft of a policy changes in a table. It selects all columns, and then two more: the expression of
 * the saved policy and that of the draft.
 * @param savedPolicy null: the policy is new
 */
export function rowSampleOf(draft: PolicyForm, savedPolicy: PolicyForm | null): RowSample | { reason: string } {
  const { catalog, schema, table, kind } = draft;
  if (kind === 'deny') return { reason: 'A deny takes whole tables: there are no rows to compare.' };
  if (table === '') return { reason: 'Name a table to see its rows.' };
  if (hasColumn(kind) && draft.column === '') return { reason: 'Name the column to see its rows.' };
  if (kind !== 'hidden_column' && draft.expression.trim() === '')
    return { reason: 'Write the expression to see its rows.' };
  const isOfSameTable =
    savedPolicy?.catalog === catalog && savedPolicy.schema === schema && savedPolicy.table === table;
  const policies = [isOfSameTable ? savedPolicy : null, draft] as const;
  const [columnBefore, columnAfter] = policies.map(comparedColumn) as [string, string];
  const hasFilter = policies.some(isRowFilter);
  const conditions = policies.map((policy) => (isRowFilter(policy) ? comparedColumn(policy) : 'true'));
  const whereClause = hasFilter && !conditions.includes('true') ? ` WHERE ${conditions.join(' OR ')}` : '';
  const maxRows = hasFilter ? 5 * MAX_SHOWN_ROWS : MAX_SHOWN_ROWS;
  const tableName = [catalog, schema, table].map((name) => `"${name.replaceAll('"', '""')}"`).join('.');
  return {
    sql: `SELECT *, ${columnBefore}, ${columnAfter} FROM ${tableName}${whereClause} LIMIT ${maxRows}`,
    maxRows,
    splitRows: (rows) => ({ before: shownRows(rows, policies[0], 0, draft), after: shownRows(rows, draft, 1, draft) }),
  };
}

const isRowFilter = (policy: PolicyForm | null): boolean => policy?.kind === 'row_filter';

/** The column that the statement adds for a policy. With the line breaks, a `--` comment in the expression does not hide the closing parenthesis. */
function comparedColumn(policy: PolicyForm | null): string {
  if (policy?.kind === 'row_filter') return `coalesce((\n${policy.expression}\n), false)`;
  return policy?.kind === 'column_mask' ? `(\n${policy.expression}\n)` : 'true';
}

/** The rows and columns that are visible under `policy`: the draft or the saved policy. The column that the draft masks comes first in both cases. */
function shownRows({ columns, rows }: Rows, policy: PolicyForm | null, addedIndex: 0 | 1, draft: PolicyForm): Rows {
  const columnCount = columns.length - 2;
  const resultIndex = columnCount + addedIndex;
  const policyIndex = columns.slice(0, columnCount).findIndex(({ name }) => name === policy?.column);
  const visibleRows = isRowFilter(policy) ? rows.filter((row) => row[resultIndex] === true) : rows;
  const maskedIndex = draft.kind === 'column_mask' ? columns.findIndex(({ name }) => name === draft.column) : -1;
  const isShown = (index: number): boolean =>
    index in columns && index < columnCount && !(policy?.kind === 'hidden_column' && index === policyIndex);
  const shownColumnIndexes = [...new Set([maskedIndex, ...columns.keys()])].filter(isShown);
  return {
    columns: shownColumnIndexes.flatMap((index) => columns[index] ?? []),
    rows: visibleRows.slice(0, MAX_SHOWN_ROWS).map((row) => {
      const maskValue = (value: unknown, index: number) => (index === policyIndex ? row[resultIndex] : value);
      const maskedRow = policy?.kind === 'column_mask' ? row.map(maskValue) : row;
      return shownColumnIndexes.map((index) => maskedRow[index]);
    }),
  };
}
