import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { resourceNameProblem } from '../kernel/name.js';
import { FieldRule } from '../platform/validation.js';
import type { Node } from '../trino-rules/model/node.js';

const NAME = {
  type: String,
  minLength: 1,
  maxLength: 128,
  // Excludes upper-case ASCII only: JSON Schema patterns have no class for other upper-case letters.
  pattern: '^[^A-Z\\u0000-\\u001f\\u007f-\\u009f]+$',
};

function required(value: unknown): string | null {
  if (value === undefined) return 'is required';
  return typeof value === 'string' ? resourceNameProblem(value) : 'must be a string';
}

const optional = (value: unknown) => (value === undefined ? null : required(value));

/** A node: a catalog, a schema or a table. */
export class ResourceDto implements Node {
  @ApiProperty(NAME)
  @FieldRule(required)
  catalog?: string;

  @ApiPropertyOptional(NAME)
  @FieldRule<ResourceDto>((schema, { table }) => (table === undefined ? optional(schema) : required(schema)))
  schema?: string;

  @ApiPropertyOptional(NAME)
  @FieldRule(optional)
  table?: string;
}

/** A node, or the columns of one name in all tables of a node. */
export class PolicyResourceDto extends ResourceDto {
  @ApiPropertyOptional({ ...NAME, description: 'For masks and hidden columns, at any level.' })
  @FieldRule(optional)
  column?: string;
}
