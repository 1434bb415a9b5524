import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { resourceNameProblem } from '../kernel/name.js';
import { FieldRule } from '../platform/validation.js';
import type { Resource } from '../trino-rules/model/resource.js';

const NAME = {
  type: String,
  minLength: 1,
  maxLength: 128,
  // Of the letters that are not lower-case only those of ASCII: JSON Schema has no class for the others.
  pattern: '^[^A-Z\\u0000-\\u001f\\u007f-\\u009f]+$',
};

function required(value: unknown): string | null {
  if (value === undefined) return 'is required';
  return typeof value === 'string' ? resourceNameProblem(value) : 'must be a string';
}

const optional = (value: unknown) => (value === undefined ? null : required(value));

/** A node of the tree, cut off at the level that is meant. */
export class ResourceDto implements Resource {
  @ApiProperty(NAME)
  @FieldRule(required)
  catalog!: string;

  @ApiPropertyOptional(NAME)
  @FieldRule<ResourceDto>((schema, { table }) => (table === undefined ? optional(schema) : required(schema)))
  schema?: string;

  @ApiPropertyOptional(NAME)
  @FieldRule(optional)
  table?: string;
}

/** A node, or a column name in everything below one. */
export class PolicyResourceDto extends ResourceDto {
  @ApiPropertyOptional({ ...NAME, description: 'For masks and hidden columns, at any level.' })
  @FieldRule(optional)
  column?: string;
}

/** Without the undefined members that a DTO may carry. */
export function toResource({ catalog, schema, table }: ResourceDto): Resource {
  return { catalog, ...(schema === undefined ? {} : { schema }), ...(table === undefined ? {} : { table }) };
}
