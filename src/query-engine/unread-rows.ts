import type { NativeValue } from './domain/engine-value.js';
import { PageRows } from './domain/page-rows.js';

export type Row = readonly NativeValue[];

/** The rows of one page, decoded as they are read: some at a time, which is faster and takes less memory than all at once. */
export class UnreadRows {
  /** Decoded rows, of which those before `position` have been read. */
  private rows: readonly Row[] = [];
  private position = 0;
  private readonly batches: Iterator<readonly Row[], void, undefined>;

  constructor(rows: Pick<PageRows, 'decoded'> = PageRows.NONE, decode: (row: unknown) => Row = () => []) {
    this.batches = rows.decoded(decode);
  }

  /** Whether the next ones have to be decoded first. */
  get needsDecoding(): boolean {
    return this.position === this.rows.length;
  }

  /** Whether none are left, after decoding some more where necessary. @throws ProtocolBreach */
  isRead(): boolean {
    if (this.needsDecoding) {
      this.rows = this.batches.next().value ?? [];
      this.position = 0;
    }
    return this.rows.length === 0;
  }

  /** The next rows, at most so many; none at the end of the page. @throws ProtocolBreach */
  take(most: number): readonly Row[] {
    if (this.isRead()) return [];
    const from = this.position;
    this.position = Math.min(from + most, this.rows.length);
    return this.rows.slice(from, this.position);
  }
}
