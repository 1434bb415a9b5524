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

  /** Parses a value. Refuses a missing body, which Nest would read as an empty body. Values of custom parameter decorators are not changed. */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'custom') return value;
    if (metadata.type === 'body' && value === undefined) {
      throw new Refused('malformed_json', { detail: 'The body must be a JSON object.' });
    }
    const transformedValue = (await super.transform(value, metadata)) as unknown;
    const errors = metadata.type === 'body' || metadata.type === 'query' ? droppedErrors(value, transformedValue) : [];
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    return transformedValue;
  }

  /** Keeps Nest from silently removing `__proto__`, `constructor` and `prototype`, because unknown fields must be refused. */
  protected override stripProtoKeys(): void {
    // Nothing needs to be removed, because class-transformer copies known fields only.
  }

  /** Keeps Nest from visiting every value of a body, because the lists in the body may be too long. */
  protected override closeArrayGaps(): void {
    // Nothing needs to be closed, because arrays from JSON or a query have no gaps.
  }

  /** Keeps path parameters as texts for their own pipes, because `01` and `0x1` are not the id 1. */
  protected override transformPrimitive(value: unknown): unknown {
    return value;
  }
}

const UNKNOWN_FIELD = 'is not a known field';

/** The errors in class-validator's tree as a flat list with dotted paths, with one entry for each message. */
function fieldErrors(errors: readonly ValidationError[], path = ''): FieldError[] {
  return errors.flatMap((error) => {
    const field = path === '' ? error.property : `${path}.${error.property}`;
    const ownErrors = Object.entries(error.constraints ?? {})
      .filter(([rule]) => rule !== 'nestedValidation') // the rule for objects beside it has a message of ours
      .map(([rule, message]) => ({ field, message: rule === 'whitelistValidation' ? UNKNOWN_FIELD : message }));
    return [...ownErrors, ...fieldErrors(error.children ?? [], field)];
  });
}

/**
 * Errors of fields that class-transformer silently drops, because functions or prototypes have members of that name (`constructor`,
 * `toString`, `prototype`). Other unknown fields stay in the object and are refused later.
 */
function droppedErrors(input: unknown, output: unknown, path = ''): FieldError[] {
  if (typeof input !== 'object' || input === null || typeof output !== 'object' || output === null) return [];
  const fields = new Map<string, unknown>(Object.entries(output));
  return Object.entries(input).flatMap(([name, value]) => {
    const field = path === '' ? name : `${path}.${name}`;
    return fields.has(name) ? droppedErrors(value, fields.get(name), field) : [{ field, message: UNKNOWN_FIELD }];
  });
}
