import { ProtocolBreach } from './reading.js';

export type RowsFormat = 'json' | 'ndjson' | 'csv';

/** The part of the WebAssembly API that is used here. Node's type definitions do not declare WebAssembly. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: object };
};

/** How values are copied. `plain`: unchanged. `digits`: in quotes, except in CSV. `float`: as by JSON.stringify. `other`: only NULL is copied. */
export const COPY_KINDS = { plain: 0, digits: 1, float: 2, other: 3 } as const;

/**
 * How a pass, one run of the program over rows, ended. `written`: all rows are written. `value`: the next value cannot be copied. The
 * others mean invalid rows. `other-count`: a row has more or fewer values than there are columns. `no-list`: a row is not a list.
 */
export type PassOutcome = 'written' | 'value' | 'no-json' | 'other-count' | 'no-list';

const BREACH_MESSAGES = {
  'no-json': 'the answer is not JSON',
  'other-count': 'a row with another number of values than there are columns',
  'no-list': 'a row that is not a list',
} as const satisfies Partial<Record<PassOutcome, string>>;

export function breachFor(outcome: keyof typeof BREACH_MESSAGES): ProtocolBreach {
  return new ProtocolBreach(BREACH_MESSAGES[outcome]);
}

/** Exports of the WebAssembly program in `row-loop/`. Positions are addresses in `memory`. `begin` and `resume` return indexes of PASS_OUTCOMES. */
interface Program {
  memory: { buffer: ArrayBuffer };
  readPosition: { value: number };
  writePosition: { value: number };
  column: { value: number };
  endOfRows: { value: number };
  maxRowHeapBytes: { value: number };
  findRows(source: number, length: number, maxBytes: number): number;
  begin(source: number, length: number, target: number, kinds: number, columns: number, format: number): number;
  resume(end: number, readBytes: number, writtenBytes: number, kinds: number, columns: number, format: number): number;
}

const PASS_OUTCOMES: readonly PassOutcome[] = ['written', 'value', 'no-json', 'other-count', 'no-list'];
const FORMATS = { json: 0, ndjson: 1, csv: 2 } as const;

const WASM_PAGE = 65_536;
/** Layout of the program's memory: the kinds of the columns, then the rows, then the output. The output is at most twice as long as the rows. */
const KINDS_ADDRESS = 1_024;
const ROWS_ADDRESS = WASM_PAGE;
const MAX_ROWS_BYTES = 4 * WASM_PAGE;
const PADDING_BYTES = 64;
/** Bytes that `findRows` searches beyond `maxBytes`, to find the end of the last row. */
const LAST_ROW_BYTES = 16_384;
const OUTPUT_ADDRESS = ROWS_ADDRESS + MAX_ROWS_BYTES + PADDING_BYTES;
const OUTPUT_END = 16 * WASM_PAGE;

/** Finds and copies rows in bytes by a WebAssembly program. The program's memory holds only the rows of the last call of `begin` or `findRows`. */
export class RowLoop {
  private readonly program: Program;
  private readonly memory: Buffer;
  private rowsLength = 0;
  private columnCount = 0;
  private format: RowsFormat = 'json';

  /** @param program compiled from `row-loop/` by build.js */
  constructor(program: Uint8Array) {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(program));
    this.program = exports as unknown as Program;
    this.memory = Buffer.from(this.program.memory.buffer);
  }

  /** The position, within the rows, of the value at which the program stopped. */
  get stopPosition(): number {
    return this.program.readPosition.value - ROWS_ADDRESS;
  }

  get stopColumn(): number {
    return this.program.column.value;
  }

  /**
   * Finds whole rows with commas between them, until the rows have `maxBytes` bytes. Stops early at a row that the program cannot read.
   * @param start position of the first row
   * @returns the number of rows, the position after the last one, and the heap bytes of the largest one
   */
  findRows(bytes: Buffer, start: number, maxBytes: number): { count: number; end: number; maxRowHeapBytes: number } {
    const length = Math.min(maxBytes + LAST_ROW_BYTES, MAX_ROWS_BYTES, bytes.length - start);
    this.writeInput(bytes.subarray(start, start + length));
    const { program } = this;
    const count = program.findRows(ROWS_ADDRESS, length, maxBytes);
    const end = start + program.endOfRows.value - ROWS_ADDRESS;
    return { count, end, maxRowHeapBytes: program.maxRowHeapBytes.value };
  }

  /**
   * Begins a pass that writes rows by copying values, up to a value that JSON.stringify would not write unchanged.
   * @param rows UTF-8, with commas between rows
   * @param kinds the columns' kinds, values of COPY_KINDS
   * @returns null: `rows` or `kinds` does not fit the memory
   */
  begin(rows: Uint8Array, kinds: Uint8Array, format: RowsFormat): PassOutcome | null {
    if (rows.length > MAX_ROWS_BYTES || kinds.length > ROWS_ADDRESS - KINDS_ADDRESS) return null;
    this.rowsLength = rows.length;
    this.columnCount = kinds.length;
    this.format = format;
    this.memory.set(kinds, KINDS_ADDRESS);
    this.writeInput(rows);
    return this.outcomeOf(
      this.program.begin(ROWS_ADDRESS, rows.length, OUTPUT_ADDRESS, KINDS_ADDRESS, this.columnCount, FORMATS[format]),
    );
  }

  /** Writes `text` in place of the value (`valueBytes` bytes) that the program could not copy, and goes on. @returns null: the output does not fit */
  resume(valueBytes: number, text: string): PassOutcome | null {
    const { writePosition } = this.program;
    const unreadBytes = this.rowsLength - this.stopPosition - valueBytes;
    if (writePosition.value + 3 * text.length + 2 * unreadBytes + PADDING_BYTES > OUTPUT_END) return null;
    const writtenBytes = this.memory.write(text, writePosition.value);
    const end = ROWS_ADDRESS + this.rowsLength;
    return this.outcomeOf(
      this.program.resume(end, valueBytes, writtenBytes, KINDS_ADDRESS, this.columnCount, FORMATS[this.format]),
    );
  }

  /** A copy of the pass's output. */
  copyOutput(): Buffer {
    return Buffer.from(this.memory.subarray(OUTPUT_ADDRESS, this.program.writePosition.value));
  }

  private writeInput(rows: Uint8Array): void {
    this.memory.set(rows, ROWS_ADDRESS);
    this.memory.fill(0, ROWS_ADDRESS + rows.length, ROWS_ADDRESS + rows.length + PADDING_BYTES);
  }

  private outcomeOf(index: number): PassOutcome {
    const outcome = PASS_OUTCOMES[index];
    if (outcome === undefined) throw new Error(`the loop over rows ended with ${index}`);
    return outcome;
  }
}
