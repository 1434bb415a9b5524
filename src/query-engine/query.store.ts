import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../platform/database/database-session.js';
import { readColumns, writeColumns } from './domain/engine-type.js';
import type { ExecutionState, NewQuery } from './domain/execution-state.js';
import type { Ending, Query, QueryCursor } from './domain/query.js';

/** The end of a new lease. Leases follow the database's clock, so that replicas need not agree on the time. */
const LEASE_END = `now() + interval '30 seconds'`;
/** The columns of an ExecutionState. */
const STATE_COLUMNS = `id, user_id AS "userId", run_as AS "runAs", catalog, schema, trace_token AS "traceToken", deadline_at AS "deadlineAt", columns,
  state, started_at AS "startedAt", progress_percent AS "progressPercent", engine_query_id AS "engineQueryId",
  next_path AS "nextPath", page_path AS "waitingPagePath", page_start::float8 AS "waitingPageStart", newest_from::float8 AS "newestPageStart",
  rows_returned::float8 AS "rowsReturned", waiting_since AS "waitingSince"`;
const IS_UNFINISHED = `state IN ('queued', 'running')`;

/** Limits of a user's history: bytes of SQL and columns, and number of queries. Beyond them the oldest queries are removed. */
const HISTORY_LIMITS = { bytes: 16_777_216, queries: 10_000 } as const;
const FORGET_OLDEST = `DELETE FROM queries USING (
    SELECT id, row_number() OVER newest_first AS place,
      sum(octet_length(sql) + coalesce(pg_column_size(columns), 0)) OVER newest_first AS bytes
    FROM queries WHERE user_id = $1 WINDOW newest_first AS (ORDER BY created_at DESC, id DESC)
  ) AS kept
  WHERE queries.id = kept.id AND (kept.bytes > $2 OR kept.place > $3) AND finished_at IS NOT NULL`;

/** SQL assignments for the end of a query, with parameters from $3 on. Also clears the nextUri paths, which are capabilities. */
const ENDING_COLUMNS = `state = $3, finished_at = $4, truncated = $5, update_count = $6, error_code = $7, error_message = $8,
  engine_error_name = $9, error_line = $10, error_column = $11,
  progress_percent = CASE $3 WHEN 'finished' THEN 100 ELSE progress_percent END,
  driver = NULL, lease_until = NULL, next_path = NULL, page_path = NULL, waiting_since = NULL`;

/** The most characters of a query's SQL and of its columns in a list, so that 200 queries make an answer of moderate size. */
const LIST_LIMITS = { sql: 1_000, columns: 4_000 } as const;

/** The columns of a QueryRow, without the SQL text and the result's columns, which lists shorten. */
const QUERY_COLUMNS = `id, state, catalog, schema, created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt",
  progress_percent AS "progressPercent", rows_returned::float8 AS "rowsReturned", truncated, update_count AS "updateCount",
  engine_query_id AS "engineQueryId",
  CASE WHEN error_code IS NOT NULL THEN json_build_object('code', error_code, 'message', coalesce(error_message, ''),
    'engineErrorName', engine_error_name, 'line', error_line, 'column', error_column) END AS error`;

/** The fields of a query that are needed to cancel it on the engine: its session and path. */
type CancelTarget = Pick<ExecutionState, 'runAs' | 'catalog' | 'schema' | 'traceToken' | 'nextPath'>;

/**
 * The queries of all replicas in PostgreSQL. A replica executes a query as long as it renews the lease. A method with a `replica` changes
 * nothing and returns false if that replica does not execute the query. A method with a `userId` reads and changes only this user's queries.
 */
@Injectable()
export class QueryStore {
  constructor(private readonly session: DatabaseSession) {}

  /** Stores a query that the engine has accepted. False: the user already has `maxRunning` running queries. Concurrent calls cannot exceed this limit together. */
  async add(
    { sql, createdAt }: NewQuery,
    state: ExecutionState,
    replica: string,
    maxRunning: number,
  ): Promise<boolean> {
    const { id, userId, runAs, catalog, schema, traceToken, deadlineAt } = state;
    const addedRows = await this.session.queryPrepared(
      'queries-add',
      `INSERT INTO queries (id, driver, state, started_at, progress_percent, engine_query_id, next_path, page_path, page_start,
         newest_from, rows_returned, waiting_since, columns, user_id, run_as, sql, catalog, schema, trace_token, created_at,
         deadline_at, lease_until)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, ${LEASE_END}
       WHERE may_run_one_more($14, $22)
       RETURNING id`,
      [
        ...[id, replica, ...stateValues(state), userId, runAs, sql, catalog, schema, traceToken, createdAt, deadlineAt],
        maxRunning,
      ],
    );
    return addedRows.length === 1;
  }

  /** Stores the state. If `columns` is null, the stored columns stay unchanged. */
  save(replica: string, state: ExecutionState): Promise<boolean> {
    return this.updateOne(
      'queries-save',
      `UPDATE queries SET state = $3, started_at = $4, progress_percent = $5, engine_query_id = $6, next_path = $7,
         page_path = $8, page_start = $9, newest_from = $10, rows_returned = $11, waiting_since = $12,
         columns = coalesce($13, columns)
       WHERE id = $1 AND driver = $2`,
      [state.id, replica, ...stateValues(state)],
    );
  }

  /** Ends a query. @param lastState the last state of its execution, which is stored with the ending. */
  end(replica: string, ending: Ending, endedAt: Date, lastState: ExecutionState): Promise<boolean> {
    const { id, startedAt, engineQueryId, newestPageStart, rowsReturned, columns } = lastState;
    return this.updateOne(
      'queries-end',
      `UPDATE queries SET ${ENDING_COLUMNS}, started_at = $12, engine_query_id = $13, newest_from = $14, rows_returned = $15,
         columns = coalesce($16, columns)
       WHERE id = $1 AND driver = $2`,
      [
        ...[id, replica, ...endingValues(ending, endedAt), startedAt, engineQueryId, newestPageStart, rowsReturned],
        columns && writeColumns(columns),
      ],
    );
  }

  /** Takes over a query. `wasExecutedHere`: this replica executed it already. Null: the query has ended. */
  async claim(id: string, replica: string): Promise<{ state: ExecutionState; wasExecutedHere: boolean } | null> {
    const row = await this.session.firstRow<StateRow & { wasExecutedHere: boolean }>(
      `WITH before AS (SELECT id AS claimed, driver AS former FROM queries WHERE id = $1 FOR UPDATE)
       UPDATE queries SET driver = $2, lease_until = ${LEASE_END} FROM before
       WHERE id = claimed AND ${IS_UNFINISHED}
       RETURNING former = $2 AS "wasExecutedHere", ${STATE_COLUMNS}`,
      [id, replica],
    );
    if (row === null) return null;
    const { wasExecutedHere, ...state } = row;
    return { state: toState(state), wasExecutedHere };
  }

  /** Takes over up to `limit` queries of other replicas whose lease has expired. */
  async claimExpired(replica: string, limit: number): Promise<ExecutionState[]> {
    const rows = await this.session.query<StateRow>(
      `UPDATE queries SET driver = $1, lease_until = ${LEASE_END}
       WHERE id IN (
         SELECT id FROM queries WHERE ${IS_UNFINISHED} AND lease_until < now() AND driver <> $1
         ORDER BY lease_until LIMIT $2 FOR UPDATE SKIP LOCKED
       )
       RETURNING ${STATE_COLUMNS}`,
      [replica, limit],
    );
    return rows.map(toState);
  }

  /** Renews the leases of this replica. @returns the queries that it executes, and whether their users are active. */
  renew(replica: string): Promise<{ id: string; isActive: boolean }[]> {
    return this.session.query<{ id: string; isActive: boolean }>(
      `UPDATE queries q SET lease_until = ${LEASE_END} FROM users u WHERE q.driver = $1 AND u.id = q.user_id
       RETURNING q.id, u.is_active AS "isActive"`,
      [replica],
    );
  }

  /** Ends the leases of this replica, so that another replica can take over at once. */
  async release(replica: string): Promise<void> {
    await this.session.query('UPDATE queries SET lease_until = now() WHERE driver = $1', [replica]);
  }

  /** Removes the user's oldest queries beyond the limits of one user's history. */
  async forgetOldestQueries(userId: number): Promise<void> {
    await this.session.query(FORGET_OLDEST, [userId, HISTORY_LIMITS.bytes, HISTORY_LIMITS.queries]);
  }

  /** Removes queries that ended before a time. @returns how many. */
  removeEnded(endedBefore: Date): Promise<number> {
    return this.session.execute('DELETE FROM queries WHERE finished_at < $1', [endedBefore]);
  }

  /** A query of the user. Null: this user has no such query. */
  async find(userId: number, id: string): Promise<Query | null> {
    const [row] = await this.session.queryPrepared<QueryRow>(
      'queries-find',
      `SELECT ${QUERY_COLUMNS}, sql, false AS "sqlTruncated", columns FROM queries WHERE id = $1 AND user_id = $2`,
      [id, userId],
    );
    return row === undefined ? null : toQuery(row);
  }

  /** At most `limit` queries of the user, newest first, beginning after the cursor. */
  async listPage(userId: number, after: QueryCursor | null, limit: number): Promise<Query[]> {
    const rows = await this.session.query<QueryRow>(
      `SELECT ${QUERY_COLUMNS}, left(sql, ${LIST_LIMITS.sql}) AS sql,
              octet_length(sql) > octet_length(left(sql, ${LIST_LIMITS.sql})) AS "sqlTruncated",
              CASE WHEN length(columns::text) <= ${LIST_LIMITS.columns} THEN columns END AS columns
       FROM queries WHERE user_id = $1 ${after === null ? '' : 'AND (created_at, id) < ($3, $4)'}
       ORDER BY created_at DESC, id DESC LIMIT $2`,
      [userId, limit, ...(after === null ? [] : [after.createdAt, after.id])],
    );
    return rows.map(toQuery);
  }

  /** Ends a query for its user. @returns the query to cancel on the engine; `ended`: it had ended before; null: this user has no such query. */
  async cancel(userId: number, id: string, ending: Ending, endedAt: Date): Promise<CancelTarget | 'ended' | null> {
    // ENDING_COLUMNS clears next_path. The path is read first, and the row is locked, so that the path does not change in between.
    const cancelTarget = await this.session.firstRow<CancelTarget>(
      `WITH alive AS (
         SELECT id, run_as, catalog, schema, trace_token, next_path FROM queries
         WHERE id = $1 AND user_id = $2 AND ${IS_UNFINISHED} FOR UPDATE
       )
       UPDATE queries q SET ${ENDING_COLUMNS} FROM alive WHERE q.id = alive.id
       RETURNING alive.run_as AS "runAs", alive.catalog, alive.schema, alive.trace_token AS "traceToken",
                 alive.next_path AS "nextPath"`,
      [id, userId, ...endingValues(ending, endedAt)],
    );
    return cancelTarget ?? ((await this.find(userId, id)) === null ? null : 'ended');
  }

  private async updateOne(name: string, statement: string, values: unknown[]): Promise<boolean> {
    return (await this.session.queryPrepared(name, `${statement} RETURNING id`, values)).length === 1;
  }
}

type StateRow = Omit<ExecutionState, 'columns'> & { columns: unknown };

function toState(row: StateRow): ExecutionState {
  return { ...row, columns: row.columns === null ? null : readColumns(row.columns) };
}

type QueryRow = Omit<Query, 'columns' | 'updateCount'> & { columns: unknown; updateCount: string | null };

function toQuery(row: QueryRow): Query {
  const columns = row.columns === null ? null : readColumns(row.columns);
  return { ...row, columns, updateCount: row.updateCount === null ? null : BigInt(row.updateCount) };
}

/** The values of the columns that change during an execution, in the order of the statements in `add` and `save`. */
function stateValues(state: ExecutionState): unknown[] {
  const { startedAt, progressPercent, engineQueryId, nextPath, waitingPagePath, waitingPageStart, columns } = state;
  return [
    ...[state.state, startedAt, progressPercent, engineQueryId, nextPath, waitingPagePath, waitingPageStart],
    ...[state.newestPageStart, state.rowsReturned, state.waitingSince, columns && writeColumns(columns)],
  ];
}

function endingValues(ending: Ending, endedAt: Date): unknown[] {
  if (ending.state === 'finished') {
    const updateCountText = ending.updateCount === null ? null : String(ending.updateCount);
    return ['finished', endedAt, ending.truncated, updateCountText, null, null, null, null, null];
  }
  const { code, message, engineErrorName, line, column } = ending.error;
  return [ending.state, endedAt, false, null, code, message, engineErrorName, line, column];
}
