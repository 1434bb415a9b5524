export type RowsFormat = 'json' | 'ndjson' | 'csv';

/** The used part of the WebAssembly API, which Node's types lack. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: object };
};

/** Kinds of columns by how their values are copied: `plain` and `float` unchanged, `digits` in quotes, `other` not at all. */
export const COPIED = { plain: 0, digits: 1, float: 2, other: 3 } as const;

/**
 * How a pass over rows ended. `written`: all rows are written. `value`: the next value cannot be copied. `no-json`, `other-count` (a row
 * without one value for each column), `no-list` (a row that is no list): the rows are broken.
 */
export type PassEnd = 'written' | 'value' | 'no-json' | 'other-count' | 'no-list';

/** The exports of `row-loop/`. Places are addresses in its memory; ends are indexes of ENDS, formats values of FORMATS. */
interface Program {
  memory: { buffer: ArrayBuffer };
  at: { value: number };
  to: { value: number };
  column: { value: number };
  behindRows: { value: number };
  heaviest: { value: number };
  find(source: number, length: number, most: number): number;
  begin(source: number, length: number, target: number, kinds: number, columns: number, format: number): number;
  resume(end: number, read: number, written: number, kinds: number, columns: number, format: number): number;
}

const ENDS: readonly PassEnd[] = ['written', 'value', 'no-json', 'other-count', 'no-list'];
const FORMATS = { json: 0, ndjson: 1, csv: 2 } as const;

const PAGE = 65_536;
/** Layout of the program's memory: kinds of the columns, rows, and the output, which is at most twice as long as the rows. */
const KINDS = 1_024;
const ROWS = PAGE;
const MOST_ROWS = 4 * PAGE;
const SLACK = 64;
/** Bytes searched beyond the requested ones, so that the last row is whole. */
const LAST_ROW = 16_384;
const TARGET = ROWS + MOST_ROWS + SLACK;
const END = 16 * PAGE;

/** The loops over the bytes of rows, in a WebAssembly program with its own memory. Calls are synchronous; one pass is written at a time. */
export class RowLoop {
  private readonly program: Program;
  private readonly memory: Buffer;
  private length = 0;
  private columns = 0;
  private format: RowsFormat = 'json';

  /** @param program compiled from `row-loop/` by build.js */
  constructor(program: Uint8Array) {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(program));
    this.program = exports as unknown as Program;
    this.memory = Buffer.from(this.program.memory.buffer);
  }

  /** The position in the rows of the value at which the pass stopped. */
  get place(): number {
    return this.program.at.value - ROWS;
  }

  /** The column of the value at which the pass stopped. */
  get column(): number {
    return this.program.column.value;
  }

  /**
   * Finds whole rows with commas between them, up to the row that reaches `most` bytes.
   * @param from position of the first row
   * @param most some ten thousand bytes
   * @returns the number of rows, their end, and the heaviest row's weight. Stops before a row that only JsonScanner can find
   */
  findRows(bytes: Buffer, from: number, most: number): { count: number; end: number; heaviest: number } {
    const length = Math.min(most + LAST_ROW, MOST_ROWS, bytes.length - from);
    this.writeInput(bytes.subarray(from, from + length));
    const { program } = this;
    const count = program.find(ROWS, length, most);
    return { count, end: from + program.behindRows.value - ROWS, heaviest: program.heaviest.value };
  }

  /**
   * Begins a pass that writes rows by copying values, up to a value that JSON.stringify would not write unchanged.
   * @param rows UTF-8, with commas between rows
   * @param kinds the columns' kinds, values of COPIED
   * @returns null: the rows do not fit the memory
   */
  begin(rows: Uint8Array, kinds: Uint8Array, format: RowsFormat): PassEnd | null {
    if (rows.length > MOST_ROWS || kinds.length > ROWS - KINDS) return null;
    this.length = rows.length;
    this.columns = kinds.length;
    this.format = format;
    this.memory.set(kinds, KINDS);
    this.writeInput(rows);
    return this.passEnd(this.program.begin(ROWS, rows.length, TARGET, KINDS, this.columns, FORMATS[format]));
  }

  /** Writes `text` for the value of `read` bytes and continues after it. @returns null: the output does not fit the memory */
  resume(read: number, text: string): PassEnd | null {
    const { to } = this.program;
    const left = this.length - this.place - read;
    if (to.value + 3 * text.length + 2 * left + SLACK > END) return null;
    const written = this.memory.write(text, to.value);
    const end = ROWS + this.length;
    return this.passEnd(this.program.resume(end, read, written, KINDS, this.columns, FORMATS[this.format]));
  }

  /** A copy of the pass's output. */
  output(): Buffer {
    return Buffer.from(this.memory.subarray(TARGET, this.program.to.value));
  }

  private writeInput(rows: Uint8Array): void {
    this.memory.set(rows, ROWS);
    this.memory.fill(0, ROWS + rows.length, ROWS + rows.length + SLACK);
  }

  private passEnd(end: number): PassEnd {
    const known = ENDS[end];
    if (known === undefined) throw new Error(`the loop over rows ended with ${end}`);
    return known;
  }
}
