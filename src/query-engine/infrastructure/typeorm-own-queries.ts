import type { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import { readColumns } from '../domain/engine-type.js';
import type { Ending, Query } from '../domain/query.js';
import { type Ended, OwnQueries } from '../domain/query-store.js';
import { QueryRow } from './query.entity.js';
import { ENDING, endingValues } from './query-ending.js';

/** Characters of one query in a list: 200 queries make an answer of moderate size. */
const LONGEST = { sql: 1_000, columns: 4_000 } as const;

/** The columns that a list reads as they are stored. */
const LISTED = [
  'id',
  'state',
  'catalog',
  'schema',
  'createdAt',
  'startedAt',
  'finishedAt',
  'progressPercent',
  'rowsReturned',
  'truncated',
  'updateCount',
  'engineQueryId',
  'errorCode',
  'errorMessage',
  'engineErrorName',
  'errorLine',
  'errorColumn',
] as const;

/** Every statement of this class names the owner. */
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
      .select(LISTED.map((column) => `q.${column}`))
      .addSelect(`left(q.sql, ${LONGEST.sql})`, 'sql')
      .addSelect(`octet_length(q.sql) > octet_length(left(q.sql, ${LONGEST.sql}))`, 'truncated')
      .addSelect(`CASE WHEN length(q.columns::text) <= ${LONGEST.columns} THEN q.columns END`, 'columns')
      .where('q.user_id = :userId', { userId: this.userId })
      .orderBy({ 'q.created_at': 'DESC', 'q.id': 'DESC' })
      .limit(limit);
    if (after !== null) query.andWhere('(q.created_at, q.id) < (:createdAt, :id)', after);
    const { entities, raw } = await query.getRawAndEntities<{ sql: string; truncated: boolean; columns: unknown }>();
    return entities.map((row, at) => {
      const { sql = '', truncated = false, columns = null } = raw[at] ?? {};
      return { ...toQuery(Object.assign(row, { sql, columns })), sqlTruncated: truncated };
    });
  }

  override async cancel(id: string, ending: Ending, at: Date): Promise<Ended | 'ended' | null> {
    // The path is read before it is cleared, and must not change in between.
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
    sqlTruncated: false,
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
