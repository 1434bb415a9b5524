import type { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import { readColumns } from '../domain/engine-type.js';
import type { Ending, Query } from '../domain/query.js';
import { type Ended, OwnQueries } from '../domain/query-store.js';
import { QueryRow } from './query.entity.js';
import { ENDING, endingValues } from './query-ending.js';

/** Every statement of this class carries the owner's id: there is no method that could leave it out. */
export class TypeormOwnQueries extends OwnQueries {
  constructor(
    private readonly session: DatabaseSession,
    private readonly userId: number,
  ) {
    super();
  }

  override async find(id: string): Promise<Query | null> {
    const row = await this.session.manager.findOneBy(QueryRow, { id, userId: this.userId });
    return row === null ? null : toQuery(row);
  }

  override async page(after: { createdAt: Date; id: string } | null, limit: number): Promise<Query[]> {
    const query = this.session.manager
      .createQueryBuilder(QueryRow, 'q')
      .where('q.user_id = :userId', { userId: this.userId })
      .orderBy({ 'q.created_at': 'DESC', 'q.id': 'DESC' })
      .limit(limit);
    if (after !== null) query.andWhere('(q.created_at, q.id) < (:createdAt, :id)', after);
    return (await query.getMany()).map(toQuery);
  }

  override async cancel(id: string, ending: Ending, at: Date): Promise<Ended | 'ended' | null> {
    // The path must be read before it is wiped out, and nobody may write another one in between.
    const [rows] = await this.session.manager.query<[EndedColumns[], number]>(
      `WITH alive AS (
         SELECT id, run_as, catalog, schema, trace_token, next_path FROM queries
         WHERE id = $1 AND user_id = $2 AND state IN ('queued', 'running') FOR UPDATE
       )
       UPDATE queries q SET ${ENDING} FROM alive WHERE q.id = alive.id
       RETURNING alive.run_as, alive.catalog, alive.schema, alive.trace_token, alive.next_path`,
      [id, this.userId, ...endingValues(ending, at)],
    );
    const row = rows[0];
    if (row === undefined) return (await this.find(id)) === null ? null : 'ended';
    return {
      runAs: row.run_as,
      catalog: row.catalog,
      schema: row.schema,
      traceToken: row.trace_token,
      nextPath: row.next_path,
    };
  }
}

interface EndedColumns {
  run_as: string;
  catalog: string | null;
  schema: string | null;
  trace_token: string;
  next_path: string | null;
}

function toQuery(row: QueryRow): Query {
  return {
    id: row.id,
    state: row.state,
    sql: row.sql,
    catalog: row.catalog,
    schema: row.schema,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    progressPercent: row.progressPercent,
    rowsReturned: Number(row.rowsReturned),
    truncated: row.truncated,
    columns: row.columns === null ? null : readColumns(row.columns),
    updateCount: row.updateCount === null ? null : BigInt(row.updateCount),
    engineQueryId: row.engineQueryId,
    error:
      row.errorCode === null
        ? null
        : {
            code: row.errorCode,
            message: row.errorMessage ?? '',
            engineErrorName: row.engineErrorName,
            line: row.errorLine,
            column: row.errorColumn,
          },
  };
}
