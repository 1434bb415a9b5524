import { isUtf8 } from 'node:buffer';
import { csvField, csvLine } from '../../kernel/csv.js';
import type { Column, EngineType } from './engine-type.js';
import { apiConverter, type ApiValue } from './engine-value.js';
import { JsonScanner, parseWithoutRounding } from './json-scanner.js';
import { partsOfRows } from './large-rows.js';
import { breachFor, COPY_KINDS, type RowLoop, type RowsFormat } from './row-loop.js';

const FORMAT_BY_MEDIA_TYPE: Readonly<Record<string, RowsFormat>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'text/*': 'csv',
};

/** The format that an Accept header prefers (RFC 9110 section 12.5.1); JSON if the header names no known format. */
export function chooseFormat(acceptHeader: string | undefined): RowsFormat {
  const preferences = (acceptHeader ?? '').split(',').map((preference, position) => {
    const [type, ...parameters] = preference.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { format: FORMAT_BY_MEDIA_TYPE[type ?? ''], quality: quality === undefined ? 1 : Number(quality), position };
  });
  const acceptedFormats = preferences.filter(({ format, quality }) => format !== undefined && quality > 0);
  acceptedFormats.sort((a, b) => b.quality - a.quality || a.position - b.position);
  return acceptedFormats[0]?.format ?? 'json';
}

export function publicColumns(columns: readonly Column[]): { name: string; type: string }[] {
  return columns.map(({ name, type }) => ({ name, type }));
}

/** The least length of a part of rows, except for the last one. */
const MIN_PART_LENGTH = 65_536;

/** Functions that write a row: as a line or, in JSON, with a comma before the row. */
export const ROW_TO_TEXT: Readonly<Record<RowsFormat, (row: readonly ApiValue[]) => string>> = {
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
  private readonly copyKinds: Uint8Array;
  private readonly converters: readonly ((value: unknown) => ApiValue)[];
  private readonly rowType: Extract<EngineType, { kind: 'row' }>;

  constructor(
    columns: readonly Column[],
    private readonly format: RowsFormat,
    private readonly loop: RowLoop,
  ) {
    this.copyKinds = Uint8Array.from(columns, ({ parsedType }) => COPY_KINDS[COPY_KIND_BY_TYPE[parsedType.kind]]);
    const fields = columns.map(({ name, parsedType: type }) => ({ name, type }));
    this.converters = fields.map(({ type }) => apiConverter(type));
    this.rowType = { kind: 'row', fields };
  }

  /**
   * @param jsonRows at least one row, with commas between rows, as `PageRows.pieces` yields them
   * @returns lines or, in JSON, each row with a comma before it; in parts if a row is large
   * @throws ProtocolBreach for bytes that are no JSON, and for a value that its column's type cannot have
   */
  *encode(jsonRows: Buffer): Generator<Buffer, void, undefined> {
    const source = isUtf8(jsonRows) ? jsonRows : Buffer.from(jsonRows.toString());
    const copiedRows = this.copyRows(source);
    if (copiedRows !== null) return yield copiedRows;
    let text = '';
    for (const part of partsOfRows(source, this.rowType, this.format)) {
      text += part;
      if (text.length < MIN_PART_LENGTH) continue;
      yield Buffer.from(text);
      text = '';
    }
    if (text !== '') yield Buffer.from(text);
  }

  private copyRows(source: Buffer): Buffer | null {
    const { loop } = this;
    let outcome = loop.begin(source, this.copyKinds, this.format);
    while (outcome === 'value') {
      const scanner = new JsonScanner(source, loop.stopPosition);
      const start = scanner.skipValue();
      if (start > loop.stopPosition) throw breachFor('no-json'); // the scanner skipped a character that is no blank in JSON
      const [parsedValue] = parseWithoutRounding(source.subarray(start, scanner.position));
      const value = this.converters[loop.stopColumn]?.(parsedValue);
      outcome = loop.resume(scanner.position - start, this.format === 'csv' ? csvField(value) : JSON.stringify(value));
    }
    if (outcome === null) return null;
    if (outcome !== 'written') throw breachFor(outcome);
    return loop.copyOutput();
  }
}

const COPY_KIND_BY_TYPE: Readonly<Record<EngineType['kind'], keyof typeof COPY_KINDS>> = {
  ...{ bigint: 'digits', decimal: 'digits', float: 'float' },
  ...{ boolean: 'plain', integer: 'plain', varbinary: 'plain', text: 'plain' },
  ...{ array: 'other', row: 'other', map: 'other', opaque: 'other' },
};
