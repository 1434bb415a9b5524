import { type JsonObject, ProtocolBreach, isObject, readList, readObject, readText, textOrNull } from './reading.js';

/**
 * The type of a column, as far as its JSON needs it. `text` is everything that the engine already writes as its own SQL
 * text: character types, dates, times, intervals, UUIDs, JSON.
 */
export type EngineType =
  | { kind: 'boolean' | 'integer' | 'bigint' | 'decimal' | 'float' | 'varbinary' | 'text' }
  | { kind: 'array'; element: EngineType }
  | { kind: 'map'; key: EngineType; value: EngineType }
  | { kind: 'row'; fields: readonly { name: string | null; type: EngineType }[] };

export interface Column {
  name: string;
  /** As the engine writes it, with parameters and field names: `row("a b" bigint, c decimal(3, 1))`. */
  type: string;
  /** As the engine sent it, to be kept beside the query and read again. */
  signature: JsonObject;
  shape: EngineType;
}

const SCALARS: Readonly<Record<string, EngineType>> = {
  boolean: { kind: 'boolean' },
  tinyint: { kind: 'integer' },
  smallint: { kind: 'integer' },
  integer: { kind: 'integer' },
  bigint: { kind: 'bigint' },
  decimal: { kind: 'decimal' },
  number: { kind: 'decimal' },
  double: { kind: 'float' },
  real: { kind: 'float' },
  varbinary: { kind: 'varbinary' },
};

/** Reads `columns` of a statement's answer. @throws ProtocolBreach */
export function readColumns(value: unknown): Column[] {
  return readList(value, 'columns').map((item) => {
    const column = readObject(item, 'a column');
    const type = readText(column['type'], 'the type of a column');
    const signature = signatureOf(column['typeSignature'], type);
    return { name: readText(column['name'], 'the name of a column'), type, signature, shape: readType(signature) };
  });
}

/** Old engines leave the signature out; a type without arguments is known by its name. */
function signatureOf(value: unknown, type: string): JsonObject {
  return isObject(value) ? value : { rawType: type.replace(/\(.*/s, '') };
}

/** Columns as JSON in the form that `readColumns` reads, and that PostgreSQL can keep. */
export function writeColumns(columns: readonly Column[]): string {
  const written = columns.map(({ name, type, signature }) => ({ name, type, typeSignature: signature }));
  return JSON.stringify(written, (_, value: unknown) => textOrNull(value) ?? value);
}

function readType(value: unknown): EngineType {
  const signature = readObject(value, 'a type signature');
  const name = readText(signature['rawType'], 'the name of a type');
  switch (name) {
    case 'array':
      return { kind: 'array', element: readType(partsOf(signature, 1)[0]) };
    case 'map': {
      const [key, item] = partsOf(signature, 2);
      return { kind: 'map', key: readType(key), value: readType(item) };
    }
    case 'row':
      return { kind: 'row', fields: partsOf(signature).map(readField) };
    default:
      return SCALARS[name] ?? { kind: 'text' };
  }
}

function partsOf(signature: JsonObject, count?: number): unknown[] {
  const parts = readList(signature['arguments'], 'the arguments of a type').map(
    (part) => readObject(part, 'an argument of a type')['value'],
  );
  if (count !== undefined && parts.length !== count) throw new ProtocolBreach(`a type has ${parts.length} parts`);
  return parts;
}

function readField(value: unknown): { name: string | null; type: EngineType } {
  const field = readObject(value, 'a field of a row');
  const named = field['fieldName'];
  return { name: isObject(named) ? textOrNull(named['name']) : null, type: readType(field['typeSignature']) };
}
