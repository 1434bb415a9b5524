import type { EngineType } from './engine-type.js';
import { apiConverter, type ApiValue } from './engine-value.js';

/** How the values of one type are written. */
export interface Cell {
  kind: 'plain' | 'digits' | 'float' | 'array' | 'row' | 'converted';
  /** Of a row its fields, of an array its element. */
  parts: readonly Cell[];
  /** From the parsed value to the one that is written. */
  convert: (value: unknown) => ApiValue;
}

export function cellOf(type: EngineType): Cell {
  const convert = apiConverter(type);
  switch (type.kind) {
    case 'bigint':
    case 'decimal':
      return { kind: 'digits', parts: [], convert };
    case 'float':
      return { kind: type.kind, parts: [], convert };
    case 'map':
    case 'opaque':
      return { kind: 'converted', parts: [], convert };
    case 'array':
      return { kind: type.kind, parts: [cellOf(type.element)], convert };
    case 'row':
      return { kind: type.kind, parts: type.fields.map((field) => cellOf(field.type)), convert };
    case 'boolean':
    case 'integer':
    case 'varbinary':
    case 'text':
      return { kind: 'plain', parts: [], convert };
  }
}
