import { type ArgumentMetadata, ValidationPipe } from '@nestjs/common';
import { Refused } from '../../kernel/errors.js';
import { droppedFields, fieldErrors } from './field-errors.js';

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

  /** A body that is not there is not an empty one. */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body' && value === undefined) {
      throw new Refused('malformed_json', { detail: 'The body must be a JSON object.' });
    }
    const transformed = (await super.transform(value, metadata)) as unknown;
    const errors = metadata.type === 'body' || metadata.type === 'query' ? droppedFields(value, transformed) : [];
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    return transformed;
  }

  /** Nest would remove `__proto__`, `constructor` and `prototype` in silence; they are refused like any other unknown field. */
  protected override stripProtoKeys(): void {
    // Nothing reads them: class-transformer copies known fields only.
  }

  /** Path parameters stay the text that they are until their own pipe reads them: `01` and `0x1` are not the id 1. */
  protected override transformPrimitive(value: unknown): unknown {
    return value;
  }
}
