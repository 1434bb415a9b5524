import { type ArgumentMetadata, type ValidationError, ValidationPipe } from '@nestjs/common';
import { type FieldError, Refused } from '../../kernel/errors.js';

/** Parses bodies and queries into their classes, and refuses all unknown and invalid fields at once. */
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

  /** Values of our own parameter decorators are not input. */
  override transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    return metadata.type === 'custom' ? Promise.resolve(value) : this.parsed(value, metadata);
  }

  /** A missing body is refused, not read as an empty one. */
  private async parsed(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body' && value === undefined) {
      throw new Refused('malformed_json', { detail: 'The body must be a JSON object.' });
    }
    const transformed = (await super.transform(value, metadata)) as unknown;
    const errors = metadata.type === 'body' || metadata.type === 'query' ? droppedFields(value, transformed) : [];
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    return transformed;
  }

  /** Nest would silently remove `__proto__`, `constructor` and `prototype`; they are refused like other unknown fields. */
  protected override stripProtoKeys(): void {
    // Harmless: class-transformer copies known fields only.
  }

  /** Nest would walk through all of a body before a list in it is refused by its count. */
  protected override closeArrayGaps(): void {
    // Neither JSON nor a query makes arrays with gaps.
  }

  /** Path parameters stay texts until their own pipe reads them: `01` and `0x1` are not the id 1. */
  protected override transformPrimitive(value: unknown): unknown {
    return value;
  }
}

const UNKNOWN_FIELD = 'is not a known field';

/** class-validator's tree as a flat list with dotted paths, every message once. */
function fieldErrors(errors: readonly ValidationError[], path = ''): FieldError[] {
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
 * Fields that class-transformer silently drops: names that functions and their prototypes have (`constructor`, `toString`,
 * `prototype`). Any other unknown field it leaves to be refused.
 */
function droppedFields(sent: unknown, parsed: unknown, path = ''): FieldError[] {
  if (typeof sent !== 'object' || sent === null || typeof parsed !== 'object' || parsed === null) return [];
  const fields = new Map<string, unknown>(Object.entries(parsed));
  return Object.entries(sent).flatMap(([name, value]) => {
    const field = path === '' ? name : `${path}.${name}`;
    return fields.has(name) ? droppedFields(value, fields.get(name), field) : [{ field, message: UNKNOWN_FIELD }];
  });
}
