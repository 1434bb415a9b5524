import { isUtf8 } from 'node:buffer';
import { csvField, csvLine } from '../../kernel/csv.js';
import type { Column, EngineType } from './engine-type.js';
import { apiConverter, type ApiValue } from './engine-value.js';
import { JsonScanner, readExactly } from './json-scanner.js';
import { ProtocolBreach } from './reading.js';
import { COPIED, type PassEnd, type RowLoop, type RowsFormat } from './row-loop.js';

const MEDIA_TYPES: Readonly<Record<string, RowsFormat>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'text/*': 'csv',
};

/** The format that an Accept header prefers (RFC 9110 section 12.5.1); JSON if it accepts none of them. */
export function chooseFormat(accept: string | undefined): RowsFormat {
  const wishes = (accept ?? '').split(',').map((wish, position) => {
    const [type, ...parameters] = wish.split(';').map((part) => part.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { format: MEDIA_TYPES[type ?? ''], quality: q === undefined ? 1 : Number(q), position };
  });
  const possible = wishes.filter(({ format, quality }) => format !== undefined && quality > 0);
  possible.sort((a, b) => b.quality - a.quality || a.position - b.position);
  return possible[0]?.format ?? 'json';
}

export function publicColumns(columns: readonly Column[]): { name: string; type: string }[] {
  return columns.map(({ name, type }) => ({ name, type }));
}

/** Writes a row as a line or, in JSON, with a comma before it. */
export const ROW_TEXT: Readonly<Record<RowsFormat, (row: readonly ApiValue[]) => string>> = {
  json: (row) => `,${JSON.stringify(row)}`,
  ndjson: (row) => `${JSON.stringify(row)}\n`,
  csv: csvLine,
};

/**
 * Converts rows from the engine's JSON to an answer, from bytes to bytes in one pass. Values that JSON.stringify would write unchanged are
 * copied. Others (`1.0E2`, `\u0041`, lists, maps) are parsed, converted and written one by one. The result is the same as if all rows
 * were parsed and written.
 */
export class RowEncoder {
  private readonly kinds: Uint8Array;
  private readonly converters: readonly ((value: unknown) => ApiValue)[];
  private readonly convert: (value: unknown) => ApiValue;

  constructor(
    columns: readonly Column[],
    private readonly format: RowsFormat,
    private readonly loop: RowLoop,
  ) {
    this.kinds = Uint8Array.from(columns, ({ shape }) => COPIED[COPIED_AS[shape.kind]]);
    this.converters = columns.map(({ shape }) => apiConverter(shape));
    this.convert = apiConverter({ kind: 'row', fields: columns.map(({ name, shape }) => ({ name, type: shape })) });
  }

  /**
   * @param rows at least one row, with commas between rows, as PageRows finds them
   * @returns lines or, in JSON, each row with a comma before it
   * @throws ProtocolBreach for bytes that are no JSON, and for a value that its column's type cannot have
   */
  encode(rows: Buffer): Buffer {
    const source = isUtf8(rows) ? rows : Buffer.from(rows.toString());
    return this.copyRows(source) ?? this.parseRows(source);
  }

  private copyRows(source: Buffer): Buffer | null {
    const { loop } = this;
    let end = loop.begin(source, this.kinds, this.format);
    while (end === 'value') {
      const scanner = new JsonScanner(source, loop.place);
      const start = scanner.skipValue();
      if (start > loop.place) throw breachOf('no-json'); // the scanner skipped a character that is no blank in JSON
      const value = this.converters[loop.column]?.(readExactly(source.subarray(start, scanner.at))[0]);
      end = loop.resume(scanner.at - start, this.format === 'csv' ? csvField(value) : JSON.stringify(value));
    }
    if (end === null) return null;
    if (end !== 'written') throw breachOf(end);
    return loop.output();
  }

  /** Parses and writes rows that do not fit the loop's memory. */
  private parseRows(source: Buffer): Buffer {
    return Buffer.from(
      readExactly(source)
        .map((row) => ROW_TEXT[this.format](this.convertRow(row)))
        .join(''),
    );
  }

  private convertRow(row: unknown): readonly ApiValue[] {
    if (!Array.isArray(row)) throw breachOf('no-list');
    return this.convert(row) as readonly ApiValue[];
  }
}

const COPIED_AS: Readonly<Record<EngineType['kind'], keyof typeof COPIED>> = {
  ...{ bigint: 'digits', decimal: 'digits', float: 'float' },
  ...{ boolean: 'plain', integer: 'plain', varbinary: 'plain', text: 'plain' },
  ...{ array: 'other', row: 'other', map: 'other', opaque: 'other' },
};

const BREACHES = {
  'no-json': 'the answer is not JSON',
  'other-count': 'a row with another number of values than there are columns',
  'no-list': 'a row that is not a list',
} as const satisfies Partial<Record<PassEnd, string>>;

function breachOf(end: keyof typeof BREACHES): ProtocolBreach {
  return new ProtocolBreach(BREACHES[end]);
}
