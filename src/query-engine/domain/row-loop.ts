export type RowsFormat = 'json' | 'ndjson' | 'csv';

/** The used part of the standard's namespace, which Node's types lack. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: object };
};

/** Kinds of columns, by how their values are copied: `plain` and `float` as they are, `digits` in quotes, others not at all. */
export const COPIED = { plain: 0, digits: 1, float: 2, other: 3 } as const;

/**
 * How a pass over rows ended: all rows are written; a value is not written as it came; or the rows are broken: no JSON, a row with
 * another number of values than columns, a row that is not a list.
 */
export type PassEnd = 'written' | 'value' | 'no-json' | 'other-count' | 'no-list';

/** The exports of `row-loop/`: places are bytes of its memory, ends and formats are indexes of ENDS and values of FORMATS. */
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
/** Its memory: the columns' kinds, rows, and what is written for them, which is no more than twice as much. */
const KINDS = 1_024;
const ROWS = PAGE;
const MOST_ROWS = 4 * PAGE;
const SLACK = 64;
/** Searched beside the wanted bytes, so that the last row is whole. */
const LAST_ROW = 16_384;
const TARGET = ROWS + MOST_ROWS + SLACK;
const END = 16 * PAGE;

/** The loops over the bytes of rows, a WebAssembly program with memory of its own. They never wait, and write one pass at a time. */
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

  /** Where in the rows the pass stopped at a value. */
  get place(): number {
    return this.program.at.value - ROWS;
  }

  /** The column of that value. */
  get column(): number {
    return this.program.column.value;
  }

  /**
   * Finds whole rows with commas between them, up to the row with which they reach `most` bytes.
   * @param from where the first row begins
   * @param most bytes, some ten thousand
   * @returns how many, where they end, and the weight of the heaviest (JsonScanner); fewer, or none: the next one is for JsonScanner
   */
  find(bytes: Buffer, from: number, most: number): { count: number; end: number; heaviest: number } {
    const length = Math.min(most + LAST_ROW, MOST_ROWS, bytes.length - from);
    this.fill(bytes.subarray(from, from + length));
    const { program } = this;
    const count = program.find(ROWS, length, most);
    return { count, end: from + program.behindRows.value - ROWS, heaviest: program.heaviest.value };
  }

  /**
   * Begins a pass, which writes rows: values that JSON.stringify would write as they came are copied.
   * @param rows with commas between them, UTF-8
   * @param kinds of the columns, one of COPIED each
   * @returns null: the rows do not fit into the memory
   */
  begin(rows: Uint8Array, kinds: Uint8Array, format: RowsFormat): PassEnd | null {
    if (rows.length > MOST_ROWS || kinds.length > ROWS - KINDS) return null;
    this.length = rows.length;
    this.columns = kinds.length;
    this.format = format;
    this.memory.set(kinds, KINDS);
    this.fill(rows);
    return this.ended(this.program.begin(ROWS, rows.length, TARGET, KINDS, this.columns, FORMATS[format]));
  }

  /** Continues behind a value of `read` bytes, for which `text` is written. @returns null: it does not fit into the memory */
  resume(read: number, text: string): PassEnd | null {
    const { to } = this.program;
    const left = this.length - this.place - read;
    if (to.value + 3 * text.length + 2 * left + SLACK > END) return null;
    const written = this.memory.write(text, to.value);
    const end = ROWS + this.length;
    return this.ended(this.program.resume(end, read, written, KINDS, this.columns, FORMATS[this.format]));
  }

  /** A copy of all that has been written. */
  written(): Buffer {
    return Buffer.from(this.memory.subarray(TARGET, this.program.to.value));
  }

  private fill(rows: Uint8Array): void {
    this.memory.set(rows, ROWS);
    this.memory.fill(0, ROWS + rows.length, ROWS + rows.length + SLACK);
  }

  private ended(end: number): PassEnd {
    const known = ENDS[end];
    if (known === undefined) throw new Error(`the loop over rows ended with ${end}`);
    return known;
  }
}
