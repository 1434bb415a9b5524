import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import { readColumns, writeColumns } from '../domain/engine-type.js';
import type { ExecutionState } from '../domain/execution-state.js';
import { type NewQuery, type OwnQueries, QueryStore } from '../domain/query-store.js';
import type { Ending } from '../domain/query.js';
import { ENDING, endingValues, PostgresOwnQueries } from './postgres-own-queries.js';

/** Leases are judged by the database's clock, so that replicas need not agree on the time. */
const LEASE = `now() + interval '30 seconds'`;
/** The columns of an ExecutionState. */
const STATE = `id, user_id AS "userId", run_as AS "runAs", catalog, schema, trace_token AS "traceToken", deadline_at AS "deadlineAt", columns,
  state, started_at AS "startedAt", progress_percent AS "progressPercent", engine_query_id AS "engineQueryId",
  next_path AS "nextPath", page_path AS "pagePath", page_start::float8 AS "pageStart", newest_from::float8 AS "newestFrom",
  rows_returned::float8 AS "rowsReturned", waiting_since AS "waitingSince"`;
const ALIVE = `state IN ('queued', 'running')`;

/** The history of one user: the newest queries, within these limits of text and of number. */
const KEPT = { bytes: 16_777_216, queries: 10_000 } as const;
const FORGET_OLDEST = `DELETE FROM queries USING (
    SELECT id, row_number() OVER newest_first AS place,
      sum(octet_length(sql) + coalesce(pg_column_size(columns), 0)) OVER newest_first AS bytes
    FROM queries WHERE user_id = $1 WINDOW newest_first AS (ORDER BY created_at DESC, id DESC)
  ) AS kept
  WHERE queries.id = kept.id AND (kept.bytes > $2 OR kept.place > $3) AND finished_at IS NOT NULL`;

@Injectable()
export class PostgresQueryStore extends QueryStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override ownedBy(userId: number): OwnQueries {
    return new PostgresOwnQueries(this.session, userId);
  }

  override async reserve(query: NewQuery, replica: string, mostAlive: number): Promise<boolean> {
    const { id, userId, runAs, sql, catalog, schema, traceToken, createdAt, deadlineAt } = query;
    const reserved = await this.session.prepared(
      'queries-reserve',
      `INSERT INTO queries (id, user_id, run_as, state, sql, catalog, schema, trace_token, created_at, deadline_at, driver, lease_until)
       SELECT $1, $2, $3, 'queued', $4, $5, $6, $7, $8, $9, $10, ${LEASE} WHERE may_run_one_more($2, $11)
       RETURNING id`,
      [id, userId, runAs, sql, catalog, schema, traceToken, createdAt, deadlineAt, replica, mostAlive],
    );
    return reserved.length === 1;
  }

  override async forgetOldest(userId: number): Promise<void> {
    await this.session.manager.query(FORGET_OLDEST, [userId, KEPT.bytes, KEPT.queries]);
  }

  override async discard(id: string): Promise<void> {
    await this.session.manager.query('DELETE FROM queries WHERE id = $1', [id]);
  }

  override save(replica: string, execution: ExecutionState): Promise<boolean> {
    const { id, state, startedAt, progressPercent, engineQueryId, nextPath, pagePath, pageStart } = execution;
    const { newestFrom, rowsReturned, waitingSince, columns } = execution;
    return this.changesOne(
      'queries-save',
      `UPDATE queries SET state = $3, started_at = $4, progress_percent = $5, engine_query_id = $6, next_path = $7,
         page_path = $8, page_start = $9, newest_from = $10, rows_returned = $11, waiting_since = $12,
         columns = coalesce($13, columns)
       WHERE id = $1 AND driver = $2`,
      [
        ...[id, replica, state, startedAt, progressPercent, engineQueryId, nextPath, pagePath, pageStart],
        ...[newestFrom, rowsReturned, waitingSince, columns && writeColumns(columns)],
      ],
    );
  }

  override end(id: string, replica: string, ending: Ending, at: Date, last?: ExecutionState): Promise<boolean> {
    return this.changesOne(
      'queries-end',
      `UPDATE queries SET ${ENDING}, started_at = coalesce($12, started_at), engine_query_id = coalesce($13, engine_query_id),
         newest_from = coalesce($14, newest_from), rows_returned = coalesce($15, rows_returned), columns = coalesce($16, columns)
       WHERE id = $1 AND driver = $2`,
      [
        ...[id, replica, ...endingValues(ending, at), last?.startedAt, last?.engineQueryId],
        ...[last?.newestFrom, last?.rowsReturned, last?.columns && writeColumns(last.columns)],
      ],
    );
  }

  override async claim(id: string, replica: string): Promise<{ state: ExecutionState; wasOwn: boolean } | null> {
    const [[row]] = await this.session.manager.query<[(StateRow & { wasOwn: boolean })[], number]>(
      `WITH before AS (SELECT id AS claimed, driver AS former FROM queries WHERE id = $1 FOR UPDATE)
       UPDATE queries SET driver = $2, lease_until = ${LEASE} FROM before
       WHERE id = claimed AND ${ALIVE} AND (next_path IS NOT NULL OR page_path IS NOT NULL)
       RETURNING former = $2 AS "wasOwn", ${STATE}`,
      [id, replica],
    );
    if (row === undefined) return null;
    const { wasOwn, ...state } = row;
    return { state: toState(state), wasOwn };
  }

  override async claimExpired(replica: string, most: number): Promise<ExecutionState[]> {
    const [rows] = await this.session.manager.query<[StateRow[], number]>(
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

  override async renew(replica: string): Promise<{ id: string; isActive: boolean }[]> {
    const [rows] = await this.session.manager.query<[{ id: string; isActive: boolean }[], number]>(
      `UPDATE queries q SET lease_until = ${LEASE} FROM users u WHERE q.driver = $1 AND u.id = q.user_id
       RETURNING q.id, u.is_active AS "isActive"`,
      [replica],
    );
    return rows;
  }

  override async release(replica: string): Promise<void> {
    await this.session.manager.query(
      'UPDATE queries SET lease_until = now() WHERE driver = $1 AND (next_path IS NOT NULL OR page_path IS NOT NULL)',
      [replica],
    );
  }

  override removePast(before: Date): Promise<number> {
    return this.session.changed('DELETE FROM queries WHERE finished_at < $1', [before]);
  }

  private async changesOne(name: string, statement: string, values: unknown[]): Promise<boolean> {
    return (await this.session.prepared(name, `${statement} RETURNING id`, values)).length === 1;
  }
}

type StateRow = Omit<ExecutionState, 'columns'> & { columns: unknown };

function toState(row: StateRow): ExecutionState {
  return { ...row, columns: row.columns === null ? null : readColumns(row.columns) };
}
