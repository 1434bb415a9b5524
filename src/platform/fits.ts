import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsObject, ValidateBy, ValidateNested } from 'class-validator';

/** Says what is wrong with a field of `whole`, as the end of a sentence that begins with its name; null: nothing. */
export type FieldRule<T> = (value: unknown, whole: T) => string | null;

/** A field whose rule may depend on the fields beside it. Asked for an absent one too. */
export function Fits<T extends object>(rule: FieldRule<T>): PropertyDecorator {
  return ValidateBy({
    name: 'fits',
    validator: {
      validate: (value, of) => rule(value, of?.object as T) === null,
      defaultMessage: (of) => rule(of?.value, of?.object as T) ?? '',
    },
  });
}

/** An object, never null or a list, with rules of its own. */
export function Part(type: () => new () => object): PropertyDecorator {
  return applyDecorators(IsObject({ message: 'must be an object' }), ValidateNested(), Type(type));
}

/** A list of such objects. */
export function Parts(type: () => new () => object, most: number): PropertyDecorator {
  return applyDecorators(
    IsArray({ message: 'must be a list' }),
    ArrayMaxSize(most, { message: `must have at most ${most} entries` }),
    IsObject({ each: true, message: 'must be a list of objects' }),
    ValidateNested({ each: true }),
    Type(type),
  );
}

/** The id of a row: what PostgreSQL's `integer` holds. */
export function idProblem(value: unknown): string | null {
  if (value === undefined) return 'is required';
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 2 ** 31 ? null : 'must be a positive integer';
}

/**
 * A moment with its offset from UTC, such as `2026-11-20T08:00:00.000Z` (RFC 3339), in the years 0 to 9999 of UTC, whatever the
 * offset: what is later has no RFC 3339. What is finer than a millisecond is cut.
 */
export function momentProblem(value: unknown): string | null {
  const text = typeof value === 'string' && MOMENT.test(value) ? value : '';
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return 'must be a moment such as 2026-11-20T08:00:00.000Z';
  // Date takes 30 February for 2 March.
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().slice(0, 10);
  if (day !== text.slice(0, 10)) return 'must be a day that exists';
  return date.toISOString().length === 24 ? null : 'must be in the years 0000 to 9999 of UTC';
}

const MOMENT = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
