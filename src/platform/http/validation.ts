import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsObject, ValidateBy, ValidateNested } from 'class-validator';

/** Finds the problem of a text, as the rest of a sentence that begins with the field's name; null: none. */
export type TextProblem = (text: string) => string | null;

/** Finds the problem of a field of any type, which may depend on the object around it. Also called for an absent field. */
export type FieldProblem<T> = (value: unknown, object: T) => string | null;

/** A required string in which `problemOf` finds no problem. */
export function TextRule(problemOf: TextProblem): PropertyDecorator {
  const rule = ofText(problemOf);
  return FieldRule((value) => (value === undefined ? 'is required' : rule(value)), 'textRule');
}

/** The rule of a string in which `problemOf` finds no problem. */
export const ofText = (problemOf: TextProblem) => (value: unknown) =>
  typeof value === 'string' ? problemOf(value) : 'must be a string';

/** A field in which `problemOf` finds no problem. @param name the rule's name, which must be unique for a field. */
export function FieldRule<T extends object>(problemOf: FieldProblem<T>, name = 'fieldRule'): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value, field) => problemOf(value, field?.object as T) === null,
      defaultMessage: (field) => problemOf(field?.value, field?.object as T) ?? '',
    },
  });
}

/** Makes a rule accept an absent field. */
export const absentOr = (rule: (value: unknown) => string | null) => (value: unknown) =>
  value === undefined ? null : rule(value);

/** A nested object with its own rules, which is neither null nor a list. */
export function NestedObject(type: () => new () => object): PropertyDecorator {
  return applyDecorators(IsObject({ message: 'must be an object' }), ValidateNested(), Type(type));
}

/** A list of nested objects. A list that is too long is refused by its length, without parsing or checking its entries. */
export function NestedArray(type: () => new () => object, maxSize: number): PropertyDecorator {
  const isTooLong = (list: unknown): list is unknown[] => Array.isArray(list) && list.length > maxSize;
  return applyDecorators(
    // An array with holes only has the same length, and checks of entries skip holes.
    Transform(({ value }: { value: unknown }) => (isTooLong(value) ? new Array<unknown>(value.length) : value)),
    IsArray({ message: 'must be a list' }),
    ArrayMaxSize(maxSize, { message: `must have at most ${maxSize} entries` }),
    IsObject({ each: true, message: 'must be a list of objects' }),
    ValidateNested({ each: true }),
    Type((given) => (given !== undefined && isTooLong(given.object[given.property]) ? String : type())),
  );
}

/** Accepts every string. */
export const anyText: TextProblem = () => null;

/** Pattern of the OpenAPI document for texts that PostgreSQL and bcrypt accept. */
export const WITHOUT_NUL = '^[^\\u0000]*$';

/** The id of a row: a positive `integer` of PostgreSQL. */
export function idProblem(value: unknown): string | null {
  if (value === undefined) return 'is required';
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 2 ** 31 ? null : 'must be a positive integer';
}

/**
 * The problem of a timestamp, which must have its offset from UTC, such as `2026-11-20T08:00:00.000Z` (RFC 3339), and lie in the years 0
 * to 9999 of UTC, because RFC 3339 cannot write later ones. Digits beyond milliseconds are cut off.
 */
export function momentProblem(value: unknown): string | null {
  const text = typeof value === 'string' && MOMENT.test(value) ? value : '';
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return 'must be a moment such as 2026-11-20T08:00:00.000Z';
  // Date would read 30 February as 2 March.
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().slice(0, 10);
  if (day !== text.slice(0, 10)) return 'must be a day that exists';
  return hasFourDigitYear(date) ? null : 'must be in the years 0000 to 9999 of UTC';
}

/** Whether a date is valid and in the years 0 to 9999 of UTC. JavaScript has dates that PostgreSQL cannot store. */
export function hasFourDigitYear(date: Date): boolean {
  return date.toISOString().length === 24;
}

const MOMENT = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
