import { ValidationPipe } from '@nestjs/common';
import { Refused } from '../../kernel/errors.js';
import { fieldErrors } from './field-errors.js';

/** Bodies and queries are parsed into their classes; what is unknown or wrong is refused, all of it at once. */
export class InputPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      forbidUnknownValues: true,
      exceptionFactory: (errors) => new Refused('validation_failed', { errors: fieldErrors(errors) }),
    });
  }

  /** Path parameters stay the text that they are until their own pipe reads them: `01` and `0x1` are not the id 1. */
  protected override transformPrimitive(value: unknown): unknown {
    return value;
  }
}
