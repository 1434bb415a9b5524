import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { Refused } from '../kernel/errors.js';
import { resourceNameProblem } from '../kernel/name.js';
import { keyOfCursor } from '../kernel/page.js';
import { INTEGER, MOMENT, NULLABLE_MOMENT, NULLABLE_TEXT, PageResponse } from '../platform/http/api-fields.js';
import { Limit, PAGE_LIMITS, INVALID_CURSOR, PageLimit } from '../platform/http/page.dto.js';
import { optionalRule, FieldRule, TextRule } from '../platform/http/validation.js';
import type { ApiValue } from './domain/engine-value.js';
import { type Query, QUERY_ERROR_CODES, type QueryError, type QueryState, readQueryCursor } from './domain/query.js';
import { publicColumns } from './domain/row-encoder.js';
import { type Parameter, parametersProblem, sqlProblem } from './domain/sql-literal.js';

const NAME_SCHEMA = {
  type: String,
  minLength: 1,
  maxLength: 128,
  nullable: true,
  pattern: '^[^A-Z\\u0000-\\u001f\\u007f-\\u009f]+$',
};

export class SubmitQueryDto {
  @ApiProperty({
    pattern: '^[^\\u0000]*$',
    minLength: 1,
    description:
      'One statement, in a session of its own: `USE`, `SET SESSION`, `SET ROLE` and `PREPARE` change nothing for later ones. ' +
      'A semicolon at its end is not sent to the engine.',
  })
  @TextRule(sqlProblem)
  sql!: string;

  @ApiPropertyOptional(NAME_SCHEMA)
  @IsOptional()
  @TextRule(resourceNameProblem)
  catalog?: string | null;

  @ApiPropertyOptional(NAME_SCHEMA)
  @IsOptional()
  @TextRule(resourceNameProblem)
  @FieldRule((_, { catalog }: SubmitQueryDto) => (typeof catalog === 'string' ? null : 'needs a catalog beside it'))
  schema?: string | null;

  @ApiPropertyOptional({
    type: 'array',
    items: {
      anyOf: [...['null', 'boolean', 'number', 'string'].map((type) => ({ type })), { type: 'array', items: {} }],
    },
    maxItems: 1000,
    description:
      'Values for the question marks, in their order. Send decimals, and whole numbers from 2^53, as strings, with a CAST in the SQL: ' +
      'a whole number from 2^53 to below 10^38, such as 1e20, is refused, because it may have been rounded. From 10^38 on it is a double.',
  })
  @FieldRule(optionalRule(parametersProblem))
  parameters: Parameter[] = [];
}

const cursorProblem = (readCursor: (text: string) => unknown): ((after: unknown) => string | null) =>
  optionalRule((after) => (typeof after === 'string' && readCursor(after) !== null ? null : INVALID_CURSOR));

export class ListQueriesDto extends PageLimit {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @FieldRule(cursorProblem(readQueryCursor))
  after?: string;
}

export class RowsDto {
  @Limit(PAGE_LIMITS.rows)
  limit = PAGE_LIMITS.rows.defaultLimit;

  @ApiPropertyOptional({ description: 'The `next` of a page; only the newest page can be asked for once more.' })
  @FieldRule(cursorProblem(keyOfCursor))
  after?: string;

  @ApiPropertyOptional({
    enum: ['csv'],
    description: '`csv`: a download, for links, which cannot send an Accept header.',
  })
  @IsOptional()
  @IsIn(['csv'], { message: 'must be csv' })
  format?: 'csv';
}

@ApiSchema({ name: 'QueryColumn' })
export class ColumnResponse {
  @ApiProperty() name!: string;
  @ApiProperty({ description: 'The SQL type, such as row(id bigint, price decimal(12, 2)).' }) type!: string;
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

  @ApiProperty({
    description: 'Whether `sql` is cut: lists give 1,000 characters of it, and of the columns 4,000 or none.',
  })
  sql_truncated!: boolean;

  @ApiProperty(NULLABLE_TEXT) catalog!: string | null;
  @ApiProperty(NULLABLE_TEXT) schema!: string | null;
  @ApiProperty(MOMENT) created_at!: string;
  @ApiProperty(NULLABLE_MOMENT) started_at!: string | null;
  @ApiProperty(NULLABLE_MOMENT) finished_at!: string | null;
  @ApiProperty({ type: Number, nullable: true, minimum: 0, maximum: 100 }) progress_percent!: number | null;
  @ApiProperty({ ...INTEGER, description: 'Rows handed out so far.' }) rows_returned!: number;
  @ApiProperty({ description: 'Whether QUERY_MAX_ROWS ended the result.' }) truncated!: boolean;
  @ApiProperty({ type: [ColumnResponse], nullable: true }) columns!: ColumnResponse[] | null;
  @ApiProperty(NULLABLE_TEXT) engine_query_id!: string | null;
  @ApiProperty({ type: QueryErrorResponse, nullable: true }) error!: QueryErrorResponse | null;
}

export class QueryListResponse extends PageResponse(QueryResponse) {}

export class RowsResponse {
  @ApiProperty({ type: [ColumnResponse] }) columns!: ColumnResponse[];
  @ApiProperty({ type: 'array', items: { type: 'array', items: {} } }) rows!: readonly (readonly ApiValue[])[];
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Cursor of the next page; null: the last page.' }) next!: string | null;
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

/** The refusal for a query that ended before its rows were read. */
export function queryProblem(state: 'failed' | 'cancelled', error: QueryError): Refused {
  return new Refused(state === 'failed' ? 'query_failed' : 'query_cancelled', {
    detail: error.message,
    members: { error: toQueryErrorResponse(error) },
  });
}
