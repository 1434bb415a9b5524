import type { ValidationError } from '@nestjs/common';
import type { FieldError } from '../../kernel/errors.js';

const UNKNOWN_FIELD = 'is not a known field';

/** class-validator's tree as a flat list with dotted paths, every message once. */
export function fieldErrors(errors: readonly ValidationError[], path = ''): FieldError[] {
  return errors.flatMap((error) => {
    const field = path === '' ? error.property : `${path}.${error.property}`;
    const own = Object.entries(error.constraints ?? {}).map(([rule, message]) => ({
      field,
      message: rule === 'whitelistValidation' ? UNKNOWN_FIELD : message,
    }));
    return [...own, ...fieldErrors(error.children ?? [], field)];
  });
}

/**
 * Fields that were sent and have silently gone: class-transformer passes over names that functions and their prototypes have
 * (`constructor`, `toString`, `prototype`), where it leaves any other unknown field to be refused.
 */
export function droppedFields(sent: unknown, taken: unknown, path = ''): FieldError[] {
  if (typeof sent !== 'object' || sent === null || typeof taken !== 'object' || taken === null) return [];
  const fields = new Map<string, unknown>(Object.entries(taken));
  return Object.entries(sent).flatMap(([name, value]) => {
    const field = path === '' ? name : `${path}.${name}`;
    return fields.has(name) ? droppedFields(value, fields.get(name), field) : [{ field, message: UNKNOWN_FIELD }];
  });
}
