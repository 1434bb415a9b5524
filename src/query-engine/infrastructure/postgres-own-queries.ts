import type { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import { readColumns } from '../domain/engine-type.js';
import { type Ended, OwnQueries } from '../domain/query-store.js';
import type { Ending, Query } from '../domain/query.js';

/** Characters of one query in a list: 200 queries make an answer of moderate size. */
const LONGEST = { sql: 1_000, columns: 4_000 } as const;

/** The columns of a QueryRow; lists shorten the texts and columns that come with them. */
const QUERY = `id, state, catalog, schema, created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt",
  progress_percent AS "progressPercent", rows_returned::float8 AS "rowsReturned", truncated, update_count AS "updateCount",
  engine_query_id AS "engineQueryId",
  CASE WHEN error_code IS NOT NULL THEN json_build_object('code', error_code, 'message', coalesce(error_message, ''),
    'engineErrorName', engine_error_name, 'line', error_line, 'column', error_column) END AS error`;

/** Every statement of this class names the owner. */
export class PostgresOwnQueries extends OwnQueries {
  constructor(
    private readonly session: DatabaseSession,
    private readonly userId: number,
  ) {
    super();
  }

  override async find(id: string): Promise<Query | null> {
    const [row] = await this.session.prepared<QueryRow>(
      'queries-find',
      `SELECT ${QUERY}, sql, false AS "sqlTruncated", columns FROM queries WHERE id = $1 AND user_id = $2`,
      [id, this.userId],
    );
    return row === undefined ? null : toQuery(row);
  }

  override async page(after: { createdAt: Date; id: string } | null, limit: number): Promise<Query[]> {
    const rows = await this.session.manager.query<QueryRow[]>(
      `SELECT ${QUERY}, left(sql, ${LONGEST.sql}) AS sql,
              octet_length(sql) > octet_length(left(sql, ${LONGEST.sql})) AS "sqlTruncated",
              CASE WHEN length(columns::text) <= ${LONGEST.columns} THEN columns END AS columns
       FROM queries WHERE user_id = $1 ${after === null ? '' : 'AND (created_at, id) < ($3, $4)'}
       ORDER BY created_at DESC, id DESC LIMIT $2`,
      [this.userId, limit, ...(after === null ? [] : [after.createdAt, after.id])],
    );
    return rows.map(toQuery);
  }

  override async cancel(id: string, ending: Ending, at: Date): Promise<Ended | 'ended' | null> {
    // The path is read before it is cleared, and must not change in between.
    const [rows] = await this.session.manager.query<[Ended[], number]>(
      `WITH alive AS (
         SELECT id, run_as, catalog, schema, trace_token, next_path FROM queries
         WHERE id = $1 AND user_id = $2 AND state IN ('queued', 'running') FOR UPDATE
       )
       UPDATE queries q SET ${ENDING} FROM alive WHERE q.id = alive.id
       RETURNING alive.run_as AS "runAs", alive.catalog, alive.schema, alive.trace_token AS "traceToken",
                 alive.next_path AS "nextPath"`,
      [id, this.userId, ...endingValues(ending, at)],
    );
    return rows[0] ?? ((await this.find(id)) === null ? null : 'ended');
  }
}

type QueryRow = Omit<Query, 'columns' | 'updateCount'> & { columns: unknown; updateCount: string | null };

function toQuery(row: QueryRow): Query {
  const columns = row.columns === null ? null : readColumns(row.columns);
  return { ...row, columns, updateCount: row.updateCount === null ? null : BigInt(row.updateCount) };
}

/** The columns of an ending, with values from $3 on. Also clears the nextUri paths, which are capabilities. */
export const ENDING = `state = $3, finished_at = $4, truncated = $5, update_count = $6, error_code = $7, error_message = $8,
  engine_error_name = $9, error_line = $10, error_column = $11,
  progress_percent = CASE $3 WHEN 'finished' THEN 100 ELSE progress_percent END,
  driver = NULL, lease_until = NULL, next_path = NULL, page_path = NULL, waiting_since = NULL`;

export function endingValues(ending: Ending, at: Date): unknown[] {
  if (ending.state === 'finished') {
    const count = ending.updateCount === null ? null : String(ending.updateCount);
    return ['finished', at, ending.truncated, count, null, null, null, null, null];
  }
  const { code, message, engineErrorName, line, column } = ending.error;
  return [ending.state, at, false, null, code, message, engineErrorName, line, column];
}
