/** From this size on a chunk is kept as it is. */
const LARGE = 4_096;
/** Blocks double with what has come, from a small answer's to this size. */
const LARGEST_BLOCK = 65_536;

/** A body as it comes. Small chunks are copied together: kept one by one, each would take some hundred bytes more. */
export class JoinedChunks {
  /** Bytes so far. */
  length = 0;
  private readonly chunks: Buffer[] = [];
  private block = Buffer.alloc(0);
  private used = 0;

  add(chunk: Buffer): void {
    this.length += chunk.length;
    if (chunk.length >= LARGE) {
      this.closeBlock();
      this.chunks.push(chunk);
      return;
    }
    if (this.used + chunk.length > this.block.length) {
      this.closeBlock();
      this.block = Buffer.allocUnsafe(Math.min(Math.max(this.length, LARGE), LARGEST_BLOCK));
    }
    this.used += chunk.copy(this.block, this.used);
  }

  whole(): Buffer {
    this.closeBlock();
    return Buffer.concat(this.chunks, this.length);
  }

  /** The rest of the block stays usable. */
  private closeBlock(): void {
    if (this.used > 0) this.chunks.push(this.block.subarray(0, this.used));
    this.block = this.block.subarray(this.used);
    this.used = 0;
  }
}
