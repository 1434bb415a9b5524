import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../platform/database/database-session.js';
import { readColumns, writeColumns } from './domain/engine-type.js';
import type { ExecutionState, NewQuery } from './domain/execution-state.js';
import type { Ending, Query, QueryCursor } from './domain/query.js';

/** The end of a new lease. Leases follow the database's clock, so that replicas need not agree on the time. */
const LEASE = `now() + interval '30 seconds'`;
/** The columns of an ExecutionState. */
const STATE = `id, user_id AS "userId", run_as AS "runAs", catalog, schema, trace_token AS "traceToken", deadline_at AS "deadlineAt", columns,
  state, started_at AS "startedAt", progress_percent AS "progressPercent", engine_query_id AS "engineQueryId",
  next_path AS "nextPath", page_path AS "pagePath", page_start::float8 AS "pageStart", newest_from::float8 AS "newestFrom",
  rows_returned::float8 AS "rowsReturned", waiting_since AS "waitingSince"`;
const ALIVE = `state IN ('queued', 'running')`;

/** Limits of one user's history, which keeps the newest queries: bytes of text, and number of queries. */
const KEPT = { bytes: 16_777_216, queries: 10_000 } as const;
const FORGET_OLDEST = `DELETE FROM queries USING (
    SELECT id, row_number() OVER newest_first AS place,
      sum(octet_length(sql) + coalesce(pg_column_size(columns), 0)) OVER newest_first AS bytes
    FROM queries WHERE user_id = $1 WINDOW newest_first AS (ORDER BY created_at DESC, id DESC)
  ) AS kept
  WHERE queries.id = kept.id AND (kept.bytes > $2 OR kept.place > $3) AND finished_at IS NOT NULL`;

/** The columns of an ending, with values from $3 on. Also clears the nextUri paths, which are capabilities. */
const ENDING = `state = $3, finished_at = $4, truncated = $5, update_count = $6, error_code = $7, error_message = $8,
  engine_error_name = $9, error_line = $10, error_column = $11,
  progress_percent = CASE $3 WHEN 'finished' THEN 100 ELSE progress_percent END,
  driver = NULL, lease_until = NULL, next_path = NULL, page_path = NULL, waiting_since = NULL`;

/** The most characters of one query in a list, so that 200 queries make an answer of moderate size. */
const LONGEST = { sql: 1_000, columns: 4_000 } as const;

/** The columns of a QueryRow, without the SQL text and the result's columns, which lists shorten. */
const QUERY = `id, state, catalog, schema, created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt",
  progress_percent AS "progressPercent", rows_returned::float8 AS "rowsReturned", truncated, update_count AS "updateCount",
  engine_query_id AS "engineQueryId",
  CASE WHEN error_code IS NOT NULL THEN json_build_object('code', error_code, 'message', coalesce(error_message, ''),
    'engineErrorName', engine_error_name, 'line', error_line, 'column', error_column) END AS error`;

/** The session and path that cancel a query on the engine. */
type Cancelled = Pick<ExecutionState, 'runAs' | 'catalog' | 'schema' | 'traceToken' | 'nextPath'>;

/**
 * The queries of all replicas in PostgreSQL. A replica executes a query as long as it renews the lease. A method with a `replica` changes
 * nothing and returns false if that replica does not execute the query. A method with a `userId` reaches only this user's queries.
 */
@Injectable()
export class QueryStore {
  constructor(private readonly session: DatabaseSession) {}

  /** Stores a query that the engine has accepted. False: the user has `mostRunning` running ones already. Exact for concurrent calls. */
  async add(
    { sql, createdAt }: NewQuery,
    state: ExecutionState,
    replica: string,
    mostRunning: number,
  ): Promise<boolean> {
    const { id, userId, runAs, catalog, schema, traceToken, deadlineAt } = state;
    const added = await this.session.queryPrepared(
      'queries-add',
      `INSERT INTO queries (id, driver, state, started_at, progress_percent, engine_query_id, next_path, page_path, page_start,
         newest_from, rows_returned, waiting_since, columns, user_id, run_as, sql, catalog, schema, trace_token, created_at,
         deadline_at, lease_until)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, ${LEASE}
       WHERE may_run_one_more($14, $22)
       RETURNING id`,
      [
        ...[id, replica, ...stateValues(state), userId, runAs, sql, catalog, schema, traceToken, createdAt, deadlineAt],
        mostRunning,
      ],
    );
    return added.length === 1;
  }

  /** Stores the state. Null columns leave the stored ones unchanged. */
  save(replica: string, state: ExecutionState): Promise<boolean> {
    return this.changesOne(
      'queries-save',
      `UPDATE queries SET state = $3, started_at = $4, progress_percent = $5, engine_query_id = $6, next_path = $7,
         page_path = $8, page_start = $9, newest_from = $10, rows_returned = $11, waiting_since = $12,
         columns = coalesce($13, columns)
       WHERE id = $1 AND driver = $2`,
      [state.id, replica, ...stateValues(state)],
    );
  }

  /** @param last the last state, which is stored with the ending. */
  end(replica: string, ending: Ending, at: Date, last: ExecutionState): Promise<boolean> {
    const { id, startedAt, engineQueryId, newestFrom, rowsReturned, columns } = last;
    return this.changesOne(
      'queries-end',
      `UPDATE queries SET ${ENDING}, started_at = $12, engine_query_id = $13, newest_from = $14, rows_returned = $15,
         columns = coalesce($16, columns)
       WHERE id = $1 AND driver = $2`,
      [
        ...[id, replica, ...endingValues(ending, at), startedAt, engineQueryId, newestFrom, rowsReturned],
        columns && writeColumns(columns),
      ],
    );
  }

  /** Takes over a query. `wasOwn`: this replica executed it already. Null: the query has ended. */
  async claim(id: string, replica: string): Promise<{ state: ExecutionState; wasOwn: boolean } | null> {
    const row = await this.session.firstRow<StateRow & { wasOwn: boolean }>(
      `WITH before AS (SELECT id AS claimed, driver AS former FROM queries WHERE id = $1 FOR UPDATE)
       UPDATE queries SET driver = $2, lease_until = ${LEASE} FROM before
       WHERE id = claimed AND ${ALIVE}
       RETURNING former = $2 AS "wasOwn", ${STATE}`,
      [id, replica],
    );
    if (row === null) return null;
    const { wasOwn, ...state } = row;
    return { state: toState(state), wasOwn };
  }

  /** Takes over up to `most` queries of other replicas whose lease has expired. */
  async claimExpired(replica: string, most: number): Promise<ExecutionState[]> {
    const rows = await this.session.query<StateRow>(
      `UPDATE queries SET driver = $1, lease_until = ${LEASE}
       WHERE id IN (
         SELECT id FROM queries WHERE ${ALIVE} AND lease_until < now() AND driver <> $1
         ORDER BY lease_until LIMIT $2 FOR UPDATE SKIP LOCKED
       )
       RETURNING ${STATE}`,
      [replica, most],
    );
    return rows.map(toState);
  }

  /** Renews the leases of this replica. @returns the queries that it executes, and whether their users are active. */
  renew(replica: string): Promise<{ id: string; isActive: boolean }[]> {
    return this.session.query<{ id: string; isActive: boolean }>(
      `UPDATE queries q SET lease_until = ${LEASE} FROM users u WHERE q.driver = $1 AND u.id = q.user_id
       RETURNING q.id, u.is_active AS "isActive"`,
      [replica],
    );
  }

  /** Ends the leases of this replica, so that another replica can take over at once. */
  async release(replica: string): Promise<void> {
    await this.session.query('UPDATE queries SET lease_until = now() WHERE driver = $1', [replica]);
  }

  /** Removes the user's oldest queries beyond the limits of one user's history. */
  async forgetOldest(userId: number): Promise<void> {
    await this.session.query(FORGET_OLDEST, [userId, KEPT.bytes, KEPT.queries]);
  }

  /** Removes queries that ended before a time. @returns how many. */
  removeEnded(before: Date): Promise<number> {
    return this.session.execute('DELETE FROM queries WHERE finished_at < $1', [before]);
  }

  /** A query of the user. Null: this user has no such query. */
  async find(userId: number, id: string): Promise<Query | null> {
    const [row] = await this.session.queryPrepared<QueryRow>(
      'queries-find',
      `SELECT ${QUERY}, sql, false AS "sqlTruncated", columns FROM queries WHERE id = $1 AND user_id = $2`,
      [id, userId],
    );
    return row === undefined ? null : toQuery(row);
  }

  /** At most `limit` queries of the user, newest first, beginning after the cursor. */
  async page(userId: number, after: QueryCursor | null, limit: number): Promise<Query[]> {
    const rows = await this.session.query<QueryRow>(
      `SELECT ${QUERY}, left(sql, ${LONGEST.sql}) AS sql,
              octet_length(sql) > octet_length(left(sql, ${LONGEST.sql})) AS "sqlTruncated",
              CASE WHEN length(columns::text) <= ${LONGEST.columns} THEN columns END AS columns
       FROM queries WHERE user_id = $1 ${after === null ? '' : 'AND (created_at, id) < ($3, $4)'}
       ORDER BY created_at DESC, id DESC LIMIT $2`,
      [userId, limit, ...(after === null ? [] : [after.createdAt, after.id])],
    );
    return rows.map(toQuery);
  }

  /** @returns the query to cancel on the engine; `ended`: it had ended before; null: this user has no such query. */
  async cancel(userId: number, id: string, ending: Ending, at: Date): Promise<Cancelled | 'ended' | null> {
    // The path is read before it is cleared, and must not change in between.
    const cancelled = await this.session.firstRow<Cancelled>(
      `WITH alive AS (
         SELECT id, run_as, catalog, schema, trace_token, next_path FROM queries
         WHERE id = $1 AND user_id = $2 AND ${ALIVE} FOR UPDATE
       )
       UPDATE queries q SET ${ENDING} FROM alive WHERE q.id = alive.id
       RETURNING alive.run_as AS "runAs", alive.catalog, alive.schema, alive.trace_token AS "traceToken",
                 alive.next_path AS "nextPath"`,
      [id, userId, ...endingValues(ending, at)],
    );
    return cancelled ?? ((await this.find(userId, id)) === null ? null : 'ended');
  }

  private async changesOne(name: string, statement: string, values: unknown[]): Promise<boolean> {
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

/** The columns that change during an execution, in the order of `add` and `save`. */
function stateValues(state: ExecutionState): unknown[] {
  const { startedAt, progressPercent, engineQueryId, nextPath, pagePath, pageStart, columns } = state;
  return [
    ...[state.state, startedAt, progressPercent, engineQueryId, nextPath, pagePath, pageStart],
    ...[state.newestFrom, state.rowsReturned, state.waitingSince, columns && writeColumns(columns)],
  ];
}

function endingValues(ending: Ending, at: Date): unknown[] {
  if (ending.state === 'finished') {
    const count = ending.updateCount === null ? null : String(ending.updateCount);
    return ['finished', at, ending.truncated, count, null, null, null, null, null];
  }
  const { code, message, engineErrorName, line, column } = ending.error;
  return [ending.state, at, false, null, code, message, engineErrorName, line, column];
}
