import type { Column, EngineType } from './engine-type.js';
import { isObject } from '../../kernel/json-reader.js';
import { ProtocolBreach } from './reading.js';

/** A value in the API's JSON: bigint and decimal are strings at every depth; a row is a list. */
export type ApiValue = string | number | boolean | null | readonly ApiValue[] | { readonly [key: string]: ApiValue };

/** A value for TypeScript code. Decimals, dates and times stay the engine's text, so that no digit is lost. A `row` is a NamedRow. */
export type NativeValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | readonly NativeValue[]
  | ReadonlyMap<NativeValue, NativeValue>;

type Converter<T> = (value: unknown) => T;

/** A converter for the values of a column. It throws ProtocolBreach on a value that the type cannot have. */
export function apiConverter(type: EngineType): Converter<ApiValue> {
  return nullableConverter(notNullApiConverter(type));
}

/** Converter for the rows of a statement. It throws ProtocolBreach on a value that its type cannot have. */
export function nativeRowConverter(columns: readonly Column[]): Converter<NativeValue[]> {
  return rowConverter(columns.map(({ parsedType }) => notNullNativeConverter(parsedType)));
}

function rowConverter<T>(cellConverters: readonly Converter<T>[]): Converter<T[]> {
  const nullableConverters = cellConverters.map((converter) => nullableConverter(converter));
  return (row) => {
    if (!Array.isArray(row) || row.length !== cellConverters.length)
      throw new ProtocolBreach('a row with another number of values than there are columns');
    return nullableConverters.map((convertCell, position) => convertCell(row[position])) as T[];
  };
}

function nullableConverter<T>(convert: Converter<T>): Converter<T | null> {
  return (value) => (value === null ? null : convert(value));
}

function notNullApiConverter(type: EngineType): Converter<ApiValue> {
  switch (type.kind) {
    case 'bigint':
    case 'decimal':
      return toDigits;
    case 'float':
      return toFloat;
    case 'boolean':
    case 'integer':
    case 'varbinary':
    case 'text':
      return toScalar;
    case 'opaque':
      return toJsonText;
    case 'array': {
      const convertElement = nullableConverter(notNullApiConverter(type.element));
      return (value) => toList(value).map(convertElement);
    }
    case 'row':
      return rowConverter(type.fields.map((field) => notNullApiConverter(field.type)));
    case 'map': {
      const convertItem = nullableConverter(notNullApiConverter(type.value));
      return (value) => Object.fromEntries(toEntries(value).map(([key, inner]) => [key, convertItem(inner)]));
    }
  }
}

function notNullNativeConverter(type: EngineType): Converter<NativeValue> {
  switch (type.kind) {
    case 'bigint':
      return toBigint;
    case 'decimal':
      return toExactDigits;
    case 'float':
      return toDouble;
    case 'varbinary':
      return (value) => Uint8Array.from(Buffer.from(toText(value), 'base64'));
    case 'boolean':
      return toBoolean;
    case 'integer':
      return toInteger;
    case 'text':
      return toText;
    case 'opaque':
      return toJsonText;
    case 'array': {
      const convertElement = nullableConverter(notNullNativeConverter(type.element));
      return (value) => toList(value).map(convertElement);
    }
    case 'row': {
      const fieldNames = type.fields.map(({ name }) => name);
      const convertFields = rowConverter(type.fields.map((field) => notNullNativeConverter(field.type)));
      return (value) => new NamedRow(fieldNames, convertFields(value));
    }
    case 'map': {
      const convertKey = mapKeyConverter(type.key);
      const convertValue = nullableConverter(notNullNativeConverter(type.value));
      return (value) => new Map(toEntries(value).map(([name, inner]) => [convertKey(name), convertValue(inner)]));
    }
  }
}

/** Converter for the keys of a map, which are text in JSON. A key that is an array, map or row stays the engine's text (`[1, 2]`). */
function mapKeyConverter(type: EngineType): (name: string) => NativeValue {
  if (type.kind === 'boolean') return (name) => toBoolean(name === 'true' || (name === 'false' ? false : name));
  if (type.kind === 'integer') return (name) => toInteger(Number(name));
  if (type.kind === 'float') return (name) => toDouble(/^-?\d/.test(name) ? Number(name) : name);
  const isContainer = type.kind === 'array' || type.kind === 'map' || type.kind === 'row';
  return isContainer ? (name) => name : notNullNativeConverter(type);
}

function toDigits(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new ProtocolBreach('a value that is not a number');
}

/** The digits of a number. Refuses whole numbers that JavaScript may have rounded; `parseWithoutRounding` leaves such numbers as text. */
function toExactDigits(value: unknown): string {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return toDigits(value);
  throw new ProtocolBreach('an integer with more digits than a double has');
}

const BIGINT_TEXT = /^-?\d{1,19}$/;

function toBigint(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  const digits = toExactDigits(value);
  // BigInt would also accept `0x1f`, blanks and the empty text, and takes seconds for a million digits.
  if (BIGINT_TEXT.test(digits)) return BigInt(digits);
  throw new ProtocolBreach('a bigint that is not a whole number of 64 bits');
}

function toBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ProtocolBreach('a value that is not a boolean');
}

function toInteger(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new ProtocolBreach('an integer that is not a whole number');
}

function toDouble(value: unknown): number {
  const number = Number(toFloat(value));
  if (Number.isNaN(number) && value !== 'NaN') throw new ProtocolBreach('a value that is not a number');
  return number;
}

/** A floating-point value: a number, or the text of NaN or an infinity. `parseWithoutRounding` has left long numbers as text. */
function toFloat(value: unknown): number | string {
  if (typeof value === 'number') return value;
  const text = toText(value);
  return /^-?\d/.test(text) ? Number(text) : text;
}

function toJsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns a scalar unchanged. Lists and objects become JSON text; the engine never sends them in a column of a scalar type. */
function toScalar(value: unknown): string | number | boolean {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return JSON.stringify(value);
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new ProtocolBreach('a value that is not a text');
}

function toList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ProtocolBreach('a value that is not an array');
}

function toEntries(value: unknown): [string, unknown][] {
  if (isObject(value)) return Object.entries(value);
  throw new ProtocolBreach('a value that is not a map');
}

/** The value of a `row(…)`: the list of its fields' values. `get` reads a value by the field's name. */
export class NamedRow<T> extends Array<T> {
  /** `map`, `filter` and the like return a plain list. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  readonly #names: readonly (string | null)[];

  /** @param names names of the fields in the order of the values; null for a field without a name */
  constructor(names: readonly (string | null)[], values: readonly T[]) {
    super(values.length);
    this.#names = names;
    values.forEach((value, position) => (this[position] = value));
  }

  /** Names of the fields in the order of the values; null for a field without a name. Several fields may have the same name. */
  get names(): readonly (string | null)[] {
    return this.#names;
  }

  /** The value of the first field with exactly that name; undefined if no field has it. */
  get(name: string): T | undefined {
    return this[this.#names.indexOf(name)];
  }
}
