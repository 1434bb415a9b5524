import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import { INTEGER, MOMENT, NULLABLE_MOMENT, NULLABLE_TEXT, PageResponse } from '../platform/http/api-fields.js';
import type { ApiValue } from './domain/engine-value.js';
import { type Query, QUERY_ERROR_CODES, type QueryError, type QueryState } from './domain/query.js';
import { publicColumns } from './domain/rows-format.js';

@ApiSchema({ name: 'QueryColumn' })
export class ColumnResponse {
  @ApiProperty() name!: string;
  @ApiProperty({ description: 'As the engine writes it, such as row(id bigint, price decimal(12, 2)).' }) type!: string;
}

@ApiSchema({ name: 'QueryError' })
export class QueryErrorResponse {
  @ApiProperty({ description: `In queries one of ${QUERY_ERROR_CODES.join(', ')}.` }) code!: string;
  @ApiProperty() message!: string;
  @ApiProperty(NULLABLE_TEXT) engine_error_name!: string | null;
  @ApiProperty({ ...INTEGER, nullable: true }) line!: number | null;
  @ApiProperty({ ...INTEGER, nullable: true }) column!: number | null;
}

@ApiSchema({ name: 'Query' })
export class QueryResponse {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: ['queued', 'running', 'finished', 'failed', 'cancelled'] }) state!: QueryState;
  @ApiProperty() sql!: string;

  @ApiProperty({ description: 'Lists carry the first 1,000 characters of a long text, and no columns beyond 4,000.' })
  sql_truncated!: boolean;

  @ApiProperty(NULLABLE_TEXT) catalog!: string | null;
  @ApiProperty(NULLABLE_TEXT) schema!: string | null;
  @ApiProperty(MOMENT) created_at!: string;
  @ApiProperty(NULLABLE_MOMENT) started_at!: string | null;
  @ApiProperty(NULLABLE_MOMENT) finished_at!: string | null;
  @ApiProperty({ type: Number, nullable: true, minimum: 0, maximum: 100 }) progress_percent!: number | null;
  @ApiProperty({ ...INTEGER, description: 'Handed out so far.' }) rows_returned!: number;
  @ApiProperty({ description: 'QUERY_MAX_ROWS was reached.' }) truncated!: boolean;
  @ApiProperty({ type: [ColumnResponse], nullable: true }) columns!: ColumnResponse[] | null;
  @ApiProperty(NULLABLE_TEXT) engine_query_id!: string | null;
  @ApiProperty({ type: QueryErrorResponse, nullable: true }) error!: QueryErrorResponse | null;
}

export class QueryListResponse extends PageResponse(QueryResponse) {}

export class RowsResponse {
  @ApiProperty({ type: [ColumnResponse] }) columns!: ColumnResponse[];
  @ApiProperty({ type: 'array', items: { type: 'array', items: {} } }) rows!: readonly (readonly ApiValue[])[];
  @ApiProperty({ ...NULLABLE_TEXT, description: 'null: that was the last page.' }) next!: string | null;
}

export function toQueryResponse(query: Query): QueryResponse {
  return {
    id: query.id,
    state: query.state,
    sql: query.sql,
    sql_truncated: query.sqlTruncated,
    catalog: query.catalog,
    schema: query.schema,
    created_at: query.createdAt.toISOString(),
    started_at: query.startedAt?.toISOString() ?? null,
    finished_at: query.finishedAt?.toISOString() ?? null,
    progress_percent: query.progressPercent,
    rows_returned: query.rowsReturned,
    truncated: query.truncated,
    columns: query.columns === null ? null : publicColumns(query.columns),
    engine_query_id: query.engineQueryId,
    error: query.error === null ? null : toQueryErrorResponse(query.error),
  };
}

export function toQueryErrorResponse(error: QueryError): QueryErrorResponse {
  const { code, message, engineErrorName, line, column } = error;
  return { code, message, engine_error_name: engineErrorName, line, column };
}

/** The problem of a query that has ended before its rows were read. */
export function queryProblem(state: 'failed' | 'cancelled', error: QueryError): Refused {
  return new Refused(state === 'failed' ? 'query_failed' : 'query_cancelled', {
    detail: error.message,
    members: { error: toQueryErrorResponse(error) },
  });
}
