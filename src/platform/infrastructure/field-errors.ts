import type { ValidationError } from '@nestjs/common';
import type { FieldError } from '../../kernel/errors.js';

export const UNKNOWN_FIELD = 'is not a known field';

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
