import { csvLine } from '../../kernel/csv.js';
import type { Column } from './engine-type.js';
import type { ApiValue } from './engine-value.js';

export type RowsFormat = 'json' | 'ndjson' | 'csv';

const MEDIA_TYPES: Readonly<Record<string, RowsFormat>> = {
  'application/json': 'json',
  'application/*': 'json',
  '*/*': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'text/*': 'csv',
};

/** The format that an Accept header prefers (RFC 9110 section 12.5.1); JSON when it accepts none. */
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

/** A row as text of an answer: a line; in JSON with a comma before it. */
export const ROW_TEXT: Readonly<Record<RowsFormat, (row: readonly ApiValue[]) => string>> = {
  json: (row) => `,${JSON.stringify(row)}`,
  ndjson: (row) => `${JSON.stringify(row)}\n`,
  csv: csvLine,
};
