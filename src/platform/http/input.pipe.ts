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

  /** Skips values of the service's own parameter decorators, which are no input. */
  override transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    return metadata.type === 'custom' ? Promise.resolve(value) : this.parse(value, metadata);
  }

  /** Parses a value. Refuses a missing body instead of reading it as an empty one. */
  private async parse(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body' && value === undefined) {
      throw new Refused('malformed_json', { detail: 'The body must be a JSON object.' });
    }
    const transformed = (await super.transform(value, metadata)) as unknown;
    const errors = metadata.type === 'body' || metadata.type === 'query' ? droppedFields(value, transformed) : [];
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    return transformed;
  }

  /** Keeps Nest from silently removing `__proto__`, `constructor` and `prototype`, which are refused like other unknown fields. */
  protected override stripProtoKeys(): void {
    // Nothing needs to be removed, because class-transformer copies known fields only.
  }

  /** Keeps Nest from walking through a whole body before a list that is too long is refused. */
  protected override closeArrayGaps(): void {
    // Arrays from JSON or a query have no gaps.
  }

  /** Keeps path parameters as texts for their own pipes, because `01` and `0x1` are not the id 1. */
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
 * Errors of fields that class-transformer silently drops: those with names of function and prototype members (`constructor`, `toString`,
 * `prototype`). Other unknown fields stay in the object and are refused later.
 */
function droppedFields(sent: unknown, parsed: unknown, path = ''): FieldError[] {
  if (typeof sent !== 'object' || sent === null || typeof parsed !== 'object' || parsed === null) return [];
  const fields = new Map<string, unknown>(Object.entries(parsed));
  return Object.entries(sent).flatMap(([name, value]) => {
    const field = path === '' ? name : `${path}.${name}`;
    return fields.has(name) ? droppedFields(value, fields.get(name), field) : [{ field, message: UNKNOWN_FIELD }];
  });
}
