import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsObject, ValidateBy, ValidateNested } from 'class-validator';

/** A function that finds the problem of a text, as the rest of a sentence that begins with the field's name; null: no problem. */
export type TextProblem = (text: string) => string | null;

/** A function that finds the problem of a field of any type. It gets the object around the field, and undefined for an absent field. */
export type FieldProblem<T> = (value: unknown, object: T) => string | null;

/** Requires a field to be a string in which `problemOf` finds no problem. */
export function TextRule(problemOf: TextProblem): PropertyDecorator {
  const rule = ruleForText(problemOf);
  return FieldRule((value) => (value === undefined ? 'is required' : rule(value)), 'textRule');
}

/** The rule that a value is a string in which `problemOf` finds no problem. */
export const ruleForText = (problemOf: TextProblem) => (value: unknown) =>
  typeof value === 'string' ? problemOf(value) : 'must be a string';

/** Requires a field in which `problemOf` finds no problem. @param name the rule's name, which must be unique for a field. */
export function FieldRule<T extends object>(problemOf: FieldProblem<T>, name = 'fieldRule'): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value, field) => problemOf(value, field?.object as T) === null,
      defaultMessage: (field) => problemOf(field?.value, field?.object as T) ?? '',
    },
  });
}

export const optionalRule = (rule: (value: unknown) => string | null) => (value: unknown) =>
  value === undefined ? null : rule(value);

/** Requires a field to be an object (not null, no list) that fulfils the rules of a class. */
export function NestedObject(type: () => new () => object): PropertyDecorator {
  return applyDecorators(IsObject({ message: 'must be an object' }), ValidateNested(), Type(type));
}

/** Requires a field to be a list of objects. A list that is too long is refused without parsing or checking its entries. */
export function NestedArray(type: () => new () => object, maxSize: number): PropertyDecorator {
  const isTooLong = (list: unknown): list is unknown[] => Array.isArray(list) && list.length > maxSize;
  return applyDecorators(
    // Replaces a list that is too long by an empty array of the same length, so that its length is reported but its entries are not checked.
    Transform(({ value }: { value: unknown }) => (isTooLong(value) ? new Array<unknown>(value.length) : value)),
    IsArray({ message: 'must be a list' }),
    ArrayMaxSize(maxSize, { message: `must have at most ${maxSize} entries` }),
    IsObject({ each: true, message: 'must be a list of objects' }),
    ValidateNested({ each: true }),
    Type((options) => (options !== undefined && isTooLong(options.object[options.property]) ? String : type())),
  );
}

export const anyText: TextProblem = () => null;

/** Pattern in the OpenAPI document for texts without NUL, which PostgreSQL and bcrypt do not accept. */
export const WITHOUT_NUL = '^[^\\u0000]*$';

export function idProblem(value: unknown): string | null {
  if (value === undefined) return 'is required';
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 2 ** 31 ? null : 'must be a positive integer';
}

/**
 * The problem of a timestamp. It must have an offset from UTC, as in `2026-11-20T08:00:00.000Z` (RFC 3339), and lie in the years 0 to 9999
 * of UTC, because RFC 3339 cannot write later years. Digits beyond milliseconds are ignored.
 */
export function momentProblem(value: unknown): string | null {
  const text = typeof value === 'string' && RFC_3339.test(value) ? value : '';
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return 'must be a moment such as 2026-11-20T08:00:00.000Z';
  // Days that do not exist are refused here, because Date reads 30 February as 2 March.
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().slice(0, 10);
  if (day !== text.slice(0, 10)) return 'must be a day that exists';
  return hasFourDigitYear(date) ? null : 'must be in the years 0000 to 9999 of UTC';
}

/** Whether a valid date is in the years 0 to 9999 of UTC. JavaScript has dates that PostgreSQL cannot store. */
export function hasFourDigitYear(date: Date): boolean {
  return date.toISOString().length === 24;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
