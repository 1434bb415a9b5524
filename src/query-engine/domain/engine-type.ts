import { isObject, type JsonObject } from '../../kernel/json-reader.js';
import { ProtocolBreach, readList, readObject, readText, textOrNull } from './reading.js';

/**
 * The type of a column, as far as reading its JSON requires. `text`: the engine writes values as text (character types, dates, times,
 * intervals, UUIDs, JSON). `opaque`: any other type; its values are handed out as JSON text.
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
  /** The type's signature as the engine sent it. Stored with the query, and parsed again after the query is loaded. */
  signature: JsonObject;
  parsedType: EngineType;
}

/**
 * Lower-case names of the scalar types of Trino 483 and of its geospatial and ML plugins, grouped by the JSON form in which Trino's
 * `JsonEncodingUtils` writes their values. Sketches and digests are bytes in base64.
 */
const NAMES_BY_KIND = {
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

const SCALAR_TYPES: ReadonlyMap<string, EngineType> = new Map(
  Object.entries(NAMES_BY_KIND).flatMap(([kind, names]) =>
    names.map((name) => [name, { kind: kind as keyof typeof NAMES_BY_KIND }] as const),
  ),
);

/** Types whose values the engine writes as JSON objects. */
const OBJECT_TYPES: ReadonlySet<string> = new Set(['bingtile', 'kdbtree']);

/** Reads `columns` of a statement's answer. @throws ProtocolBreach */
export function readColumns(value: unknown): Column[] {
  return readList(value, 'columns').map((item) => {
    const column = readObject(item, 'a column');
    const type = readText(column['type'], 'the type of a column');
    const sentSignature = column['typeSignature'];
    // Old engines send no signature. For them the signature is made from the type's name, without the type's arguments.
    const signature = isObject(sentSignature) ? sentSignature : { rawType: type.replace(/\(.*/s, '') };
    return { name: readText(column['name'], 'the name of a column'), type, signature, parsedType: readType(signature) };
  });
}

/** Columns as JSON that `readColumns` can read and PostgreSQL can store. */
export function writeColumns(columns: readonly Column[]): string {
  const storedColumns = columns.map(({ name, type, signature }) => ({ name, type, typeSignature: signature }));
  return JSON.stringify(storedColumns, (_, value: unknown) => textOrNull(value) ?? value);
}

function readType(value: unknown): EngineType {
  const signature = readObject(value, 'a type signature');
  const name = readText(signature['rawType'], 'the name of a type');
  switch (name) {
    case 'array':
      return { kind: 'array', element: readType(argumentsOf(signature, 1)[0]) };
    case 'map': {
      const [key, item] = argumentsOf(signature, 2);
      return { kind: 'map', key: readType(key), value: readType(item) };
    }
    case 'row':
      return { kind: 'row', fields: argumentsOf(signature).map(readField) };
    default:
      return SCALAR_TYPES.get(name.toLowerCase()) ?? { kind: 'opaque', name };
  }
}

/** Names of the types, nested ones included, that this client does not know. Their values are read as text. */
export function unknownTypes(types: readonly EngineType[]): string[] {
  return types.flatMap((type) => {
    if (type.kind === 'opaque') return OBJECT_TYPES.has(type.name.toLowerCase()) ? [] : [type.name];
    if (type.kind === 'array') return unknownTypes([type.element]);
    if (type.kind === 'map') return unknownTypes([type.key, type.value]);
    return type.kind === 'row' ? unknownTypes(type.fields.map((field) => field.type)) : [];
  });
}

function argumentsOf(signature: JsonObject, count?: number): unknown[] {
  const values = readList(signature['arguments'], 'the arguments of a type').map(
    (part) => readObject(part, 'an argument of a type')['value'],
  );
  if (count !== undefined && values.length !== count) throw new ProtocolBreach(`a type has ${values.length} parts`);
  return values;
}

function readField(value: unknown): { name: string | null; type: EngineType } {
  const field = readObject(value, 'a field of a row');
  const fieldName = field['fieldName'];
  return { name: isObject(fieldName) ? textOrNull(fieldName['name']) : null, type: readType(field['typeSignature']) };
}
