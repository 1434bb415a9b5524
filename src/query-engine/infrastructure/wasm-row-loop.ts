import { readFileSync } from 'node:fs';
import { type FoundRows, type PassEnd, RowLoop } from '../domain/row-loop.js';
import type { RowsFormat } from '../domain/rows-format.js';

/** What is used of the standard's namespace, which the types of Node leave to those of browsers. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: object };
};

/** Made by build.js of `row-loop/`. */
const PROGRAM = new URL('../../../dist/row-loop.wasm', import.meta.url);

/** What the program exports: places are bytes of its memory, ends and formats are as `ENDS` and `FORMATS` have them. */
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
/** What is looked through beside the bytes that are wanted, so that the last row is whole. */
const LAST_ROW = 16_384;
const TARGET = ROWS + MOST_ROWS + SLACK;
const END = 16 * PAGE;

/** The loops over rows as a WebAssembly program, sixteen bytes at a time, in memory of its own. */
export class WasmRowLoop extends RowLoop {
  private readonly program: Program;
  private readonly memory: Buffer;
  private length = 0;
  private columns = 0;
  private format: RowsFormat = 'json';

  constructor() {
    super();
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(PROGRAM)));
    this.program = exports as unknown as Program;
    this.memory = Buffer.from(this.program.memory.buffer);
  }

  override get place(): number {
    return this.program.at.value - ROWS;
  }

  override get column(): number {
    return this.program.column.value;
  }

  override find(bytes: Buffer, from: number, most: number): FoundRows {
    const length = Math.min(most + LAST_ROW, MOST_ROWS, bytes.length - from);
    this.fill(bytes.subarray(from, from + length));
    const { program } = this;
    const count = program.find(ROWS, length, most);
    return { count, end: from + program.behindRows.value - ROWS, heaviest: program.heaviest.value };
  }

  override begin(rows: Uint8Array, kinds: Uint8Array, format: RowsFormat): PassEnd | null {
    if (rows.length > MOST_ROWS || kinds.length > ROWS - KINDS) return null;
    this.length = rows.length;
    this.columns = kinds.length;
    this.format = format;
    this.memory.set(kinds, KINDS);
    this.fill(rows);
    return this.ended(this.program.begin(ROWS, rows.length, TARGET, KINDS, this.columns, FORMATS[format]));
  }

  override resume(read: number, text: string): PassEnd | null {
    const { to } = this.program;
    const left = this.length - this.place - read;
    if (to.value + 3 * text.length + 2 * left + SLACK > END) return null;
    const written = this.memory.write(text, to.value);
    const end = ROWS + this.length;
    return this.ended(this.program.resume(end, read, written, KINDS, this.columns, FORMATS[this.format]));
  }

  override written(): Buffer {
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
