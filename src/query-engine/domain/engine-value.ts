import type { Column, EngineType } from './engine-type.js';
import { ProtocolBreach, isObject } from './reading.js';

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

/** Converter for the values of a column. It throws ProtocolBreach on a value that the type cannot have. */
export function apiConverter(type: EngineType): Converter<ApiValue> {
  return nullable(apiValue(type));
}

/** Converter for the rows of a statement. It throws ProtocolBreach on a value that its type cannot have. */
export function nativeRows(columns: readonly Column[]): Converter<NativeValue[]> {
  return rowsBy(columns.map(({ shape }) => nativeValue(shape)));
}

function rowsBy<T>(cells: readonly Converter<T>[]): Converter<T[]> {
  const convert = cells.map((cell) => nullable(cell));
  return (row) => {
    if (!Array.isArray(row) || row.length !== cells.length)
      throw new ProtocolBreach('a row with another number of values than there are columns');
    return convert.map((cell, position) => cell(row[position])) as T[];
  };
}

function nullable<T>(convert: Converter<T>): Converter<T | null> {
  return (value) => (value === null ? null : convert(value));
}

function apiValue(type: EngineType): Converter<ApiValue> {
  switch (type.kind) {
    case 'bigint':
    case 'decimal':
      return digits;
    case 'float':
      return float;
    case 'boolean':
    case 'integer':
    case 'varbinary':
    case 'text':
      return scalar;
    case 'opaque':
      return jsonText;
    case 'array': {
      const element = nullable(apiValue(type.element));
      return (value) => list(value).map(element);
    }
    case 'row':
      return rowsBy(type.fields.map((field) => apiValue(field.type)));
    case 'map': {
      const item = nullable(apiValue(type.value));
      return (value) => Object.fromEntries(entries(value).map(([key, inner]) => [key, item(inner)]));
    }
  }
}

function nativeValue(type: EngineType): Converter<NativeValue> {
  switch (type.kind) {
    case 'bigint':
      return long;
    case 'decimal':
      return exactDigits;
    case 'float':
      return double;
    case 'varbinary':
      return (value) => Uint8Array.from(Buffer.from(text(value), 'base64'));
    case 'boolean':
      return boolean;
    case 'integer':
      return integer;
    case 'text':
      return text;
    case 'opaque':
      return jsonText;
    case 'array': {
      const element = nullable(nativeValue(type.element));
      return (value) => list(value).map(element);
    }
    case 'row': {
      const names = type.fields.map(({ name }) => name);
      const values = rowsBy(type.fields.map((field) => nativeValue(field.type)));
      return (value) => new NamedRow(names, values(value));
    }
    case 'map': {
      const key = mapKey(type.key);
      const item = nullable(nativeValue(type.value));
      return (value) => new Map(entries(value).map(([name, inner]) => [key(name), item(inner)]));
    }
  }
}

/** Converts a map's key. JSON keys are text; a container's key stays the engine's rendering (`[1, 2]`), which nothing parses. */
function mapKey(type: EngineType): (name: string) => NativeValue {
  if (type.kind === 'boolean') return (name) => boolean(name === 'true' || (name === 'false' ? false : name));
  if (type.kind === 'integer') return (name) => integer(Number(name));
  if (type.kind === 'float') return (name) => double(/^-?\d/.test(name) ? Number(name) : name);
  const isContainer = type.kind === 'array' || type.kind === 'map' || type.kind === 'row';
  return isContainer ? (name) => name : nativeValue(type);
}

function digits(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new ProtocolBreach('a value that is not a number');
}

/** Refuses an integer that may have lost digits. Long integers that are read exactly are text. */
function exactDigits(value: unknown): string {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return digits(value);
  throw new ProtocolBreach('an integer with more digits than a double has');
}

const LONG = /^-?\d{1,19}$/;

function long(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  const written = exactDigits(value);
  // BigInt would also accept `0x1f`, blanks and the empty text, and takes seconds for a million digits.
  if (LONG.test(written)) return BigInt(written);
  throw new ProtocolBreach('a bigint that is not a whole number of 64 bits');
}

function boolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ProtocolBreach('a value that is not a boolean');
}

function integer(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new ProtocolBreach('an integer that is not a whole number');
}

function double(value: unknown): number {
  const read = Number(float(value));
  if (Number.isNaN(read) && value !== 'NaN') throw new ProtocolBreach('a value that is not a number');
  return read;
}

/** A floating-point value. `NaN` and the infinities are text in JSON, and exact reading has turned long runs of digits into text. */
function float(value: unknown): number | string {
  if (typeof value === 'number') return value;
  const written = text(value);
  return /^-?\d/.test(written) ? Number(written) : written;
}

function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A scalar as it is. Lists and objects, which the engine never sends in such a column, become JSON text. */
function scalar(value: unknown): string | number | boolean {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return JSON.stringify(value);
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new ProtocolBreach('a value that is not a text');
}

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new ProtocolBreach('a value that is not an array');
}

function entries(value: unknown): [string, unknown][] {
  if (isObject(value)) return Object.entries(value);
  throw new ProtocolBreach('a value that is not a map');
}

/** The value of a `row(…)`: the list of its fields' values, which can be read by their names as well. */
export class NamedRow<T> extends Array<T> {
  /** `map`, `filter` and the like return a plain list. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  readonly #names: readonly (string | null)[];

  /** @param names names of the fields in the order of the values; null: the field has none */
  constructor(names: readonly (string | null)[], values: readonly T[]) {
    super(values.length);
    this.#names = names;
    values.forEach((value, position) => (this[position] = value));
  }

  /** Names of the fields in the order of the values; null: the field has none. Several fields may have the same name. */
  get names(): readonly (string | null)[] {
    return this.#names;
  }

  /** The value of the first field with exactly that name; undefined: there is none. */
  get(name: string): T | undefined {
    return this[this.#names.indexOf(name)];
  }
}
