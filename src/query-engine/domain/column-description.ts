import type { Column, EngineType } from './engine-type.js';

/** One column of a result (PEP 249, "Cursor attributes"); the engine reports no sizes and no nullability. */
export interface ColumnDescription {
  name: string;
  /** As the engine writes it: `decimal(3, 1)`. */
  typeCode: string;
  /** What its values are made of; of rows with the names of their fields. */
  type: EngineType;
  displaySize: null;
  internalSize: null;
  precision: number | null;
  scale: number | null;
  nullOk: null;
}

export function describe({ name, type, shape }: Column): ColumnDescription {
  const digits = /^(?:decimal|time|timestamp)\((\d+)(?:, ?(\d+))?\)/.exec(type);
  const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  const [precision, scale] = [number(digits?.[1]), number(digits?.[2])];
  return { name, typeCode: type, type: shape, displaySize: null, internalSize: null, precision, scale, nullOk: null };
}
