import { type ArgumentMetadata, ValidationPipe } from '@nestjs/common';
import { Refused } from '../../kernel/errors.js';
import { fieldErrors, UNKNOWN_FIELD } from './field-errors.js';
import { INHERITED } from './json-body.js';

/** All that is wrong is told at once, but nobody reads more. */
const MOST_ERRORS = 1000;

/** Bodies and queries are parsed into their classes; what is unknown or wrong is refused, all of it at once. */
export class InputPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      forbidUnknownValues: true,
      exceptionFactory: (errors) =>
        new Refused('validation_failed', { errors: fieldErrors(errors).slice(0, MOST_ERRORS) }),
    });
  }

  /** A body that is not there is not an empty one; names that every object has are unknown like any other. */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body' && value === undefined) {
      throw new Refused('malformed_json', { detail: 'The body must be a JSON object.' });
    }
    if (metadata.type === 'query' && typeof value === 'object' && value !== null) {
      const errors = Object.keys(value).flatMap((field) =>
        INHERITED.has(field) ? [{ field, message: UNKNOWN_FIELD }] : [],
      );
      if (errors.length > 0) throw new Refused('validation_failed', { errors });
    }
    return (await super.transform(value, metadata)) as unknown;
  }

  /** Path parameters stay the text that they are until their own pipe reads them: `01` and `0x1` are not the id 1. */
  protected override transformPrimitive(value: unknown): unknown {
    return value;
  }
}
