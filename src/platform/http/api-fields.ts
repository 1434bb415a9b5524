import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/** OpenAPI schemas of fields that many bodies have, so that each field of a body's class fits on one line. */
export const INTEGER = { type: 'integer' } as const;
export const INTEGERS = { type: 'array' as const, items: INTEGER };
export const TEXTS = { type: [String] as [typeof String] };
export const NULLABLE_TEXT = { type: String, nullable: true };
export const MOMENT = { type: String, format: 'date-time' };
export const NULLABLE_MOMENT = { ...MOMENT, nullable: true };
/** OpenAPI schema of a name on the engine. */
export const NAME = {
  type: 'string' as const,
  minLength: 1,
  maxLength: 128,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$',
};

/** Describes a field whose shape is a class, a list of a class (`[X]`), or one of the schemas above. */
export const ApiField = (shape: Type | [Type] | ApiPropertyOptions, description: string): PropertyDecorator =>
  ApiProperty({ ...(typeof shape === 'function' || Array.isArray(shape) ? { type: shape } : shape), description });

/** A field that holds an object or null. */
export const ApiNullable = (type: Type, description?: string): PropertyDecorator =>
  ApiProperty({ type, nullable: true, ...(description !== undefined && { description }) });

/** A reference to a row of another list, by its id and current name. */
export class ReferenceResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
}

/** Makes the class of a page's body, as in `class GroupPageResponse extends PageResponse(GroupResponse) {}`. */
export function PageResponse<T>(item: Type<T>) {
  class Page {
    @ApiProperty({ type: [item] }) items!: T[];
    @ApiProperty(NULLABLE_TEXT) next!: string | null;
  }
  return Page;
}
