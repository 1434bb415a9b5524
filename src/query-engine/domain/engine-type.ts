import { type JsonObject, ProtocolBreach, isObject, readList, readObject, readText, textOrNull } from './reading.js';

/**
 * The type of a column, as far as reading its JSON requires. `text`: the engine writes values as text (character types, dates, times,
 * intervals, UUIDs, JSON). `opaque`: any other type, whose value is its JSON as text.
 */
export type EngineType =
  | { kind: 'boolean' | 'integer' | 'bigint' | 'decimal' | 'float' | 'varbinary' | 'text' }
  | { kind: 'opaque'; name: string }
  | { kind: 'array'; element: EngineType }
  | { kind: 'map'; key: EngineType; value: EngineType }
  | { kind: 'row'; fields: readonly { name: string | null; type: EngineType }[] };

export interface Column {
  name: string;
  /** The type as the engine writes it, with parameters and field names: `row("a b" bigint, c decimal(3, 1))`. */
  type: string;
  /** The type's signature as the engine sent it, which is stored with the query and read again. */
  signature: JsonObject;
  shape: EngineType;
}

/**
 * The scalar types of Trino 483 by their raw names in lower case (`TypeRegistry`, its geospatial and ML plugins), as its `JsonEncodingUtils`
 * writes them: sketches and digests are bytes in base64.
 */
const KINDS = {
  boolean: ['boolean'],
  integer: ['tinyint', 'smallint', 'integer'],
  bigint: ['bigint'],
  decimal: ['decimal', 'number'],
  float: ['real', 'double'],
  varbinary: ['varbinary', 'hyperloglog', 'p4hyperloglog', 'setdigest', 'qdigest', 'tdigest'],
  text: [
    ...['varchar', 'char', 'json', 'variant', 'uuid', 'ipaddress', 'color', 'geometry', 'sphericalgeography'],
    ...['date', 'time', 'time with time zone', 'timestamp', 'timestamp with time zone'],
    ...['interval year to month', 'interval day to second'],
    // The type of NULL.
    'unknown',
  ],
} as const satisfies Partial<Record<EngineType['kind'], readonly string[]>>;

const SCALARS: ReadonlyMap<string, EngineType> = new Map(
  Object.entries(KINDS).flatMap(([kind, names]) =>
    names.map((name) => [name, { kind: kind as keyof typeof KINDS }] as const),
  ),
);

/** Types whose values the engine writes as JSON objects. */
const OBJECTS: ReadonlySet<string> = new Set(['bingtile', 'kdbtree']);

/** Reads `columns` of a statement's answer. @throws ProtocolBreach */
export function readColumns(value: unknown): Column[] {
  return readList(value, 'columns').map((item) => {
    const column = readObject(item, 'a column');
    const type = readText(column['type'], 'the type of a column');
    const given = column['typeSignature'];
    // Old engines send no signature; that of a type without arguments follows from its name.
    const signature = isObject(given) ? given : { rawType: type.replace(/\(.*/s, '') };
    return { name: readText(column['name'], 'the name of a column'), type, signature, shape: readType(signature) };
  });
}

/** Columns as JSON that `readColumns` can read and PostgreSQL can store. */
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
      return SCALARS.get(name.toLowerCase()) ?? { kind: 'opaque', name };
  }
}

/** Names of types, at any depth, that this client does not know. Their values are read as text. */
export function unknownTypes(types: readonly EngineType[]): string[] {
  return types.flatMap((type) => {
    if (type.kind === 'opaque') return OBJECTS.has(type.name.toLowerCase()) ? [] : [type.name];
    if (type.kind === 'array') return unknownTypes([type.element]);
    if (type.kind === 'map') return unknownTypes([type.key, type.value]);
    return type.kind === 'row' ? unknownTypes(type.fields.map((field) => field.type)) : [];
  });
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
