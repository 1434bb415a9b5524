import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { resourceNameProblem } from '../kernel/name.js';
import { Limit, LIMITS, PageLimit } from '../platform/http/page.dto.js';
import { FieldRule, TextRule } from '../platform/http/validation.js';
import { readQueryCursor } from './domain/query.js';
import { readRowCursor } from './domain/row-window.js';
import { type Parameter, parametersProblem, sqlProblem } from './domain/sql-literal.js';

const NAME = {
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
    description: 'One statement. A semicolon at its end is not sent to the engine.',
  })
  @TextRule(sqlProblem)
  sql!: string;

  @ApiPropertyOptional(NAME)
  @IsOptional()
  @TextRule(resourceNameProblem)
  catalog?: string | null;

  @ApiPropertyOptional(NAME)
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
      'For the question marks, in their order; arrays hold such values again. Decimals, and whole numbers from 2^53, as strings, with a CAST: ' +
      'as a number, one from 2^53 to below 10^38 is refused, 1e20 too, because it may have been rounded. From 10^38 on it is a double.',
  })
  @FieldRule((parameters) => (parameters === undefined ? null : parametersProblem(parameters)))
  parameters: Parameter[] = [];
}

const namedBy =
  (read: (text: string) => unknown) =>
  (after: unknown): string | null =>
    after === undefined || (typeof after === 'string' && read(after) !== null)
      ? null
      : 'must be the `next` of an earlier page';

export class ListQueriesDto extends PageLimit {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @FieldRule(namedBy(readQueryCursor))
  after?: string;
}

export class RowsDto {
  @Limit(LIMITS.rows)
  limit = LIMITS.rows.fallback;

  @ApiPropertyOptional({ description: 'The `next` of a page; only the newest page can be asked for once more.' })
  @FieldRule(namedBy(readRowCursor))
  after?: string;

  @ApiPropertyOptional({
    enum: ['csv'],
    description: 'For links, which have no Accept header of their own: a download.',
  })
  @IsOptional()
  @IsIn(['csv'], { message: 'must be csv' })
  format?: 'csv';
}
