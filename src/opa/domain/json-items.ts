/** The most bytes of an item. Longer items are left out; OPA itself drops events of more than 32 KiB packed. */
const MAX_ITEM_BYTES = 256 * 1024;

/** Bytes of the signs that separate items. In UTF-8 no other character contains them. */
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Reads the items of a JSON array part by part, so that a long array needs no more memory than a part and an item. */
export class JsonItems {
  private arrayState: 'before' | 'within' | 'behind' = 'before';
  private depth = 0;
  private isInText = false;
  private isEscaped = false;
  private isInLongItem = false;
  private hasItems = false;
  /** The beginning of an item that has not ended. */
  private unfinishedItem = Buffer.alloc(0);

  /** Reads the next part. @returns the items that end in it @throws SyntaxError */
  read(part: Buffer): unknown[] {
    let [itemsStart, itemsEnd] = [0, -1];
    for (let i = 0; i < part.length; i++) {
      const byte = part[i];
      if (this.isInText) {
        if (this.isEscaped) this.isEscaped = false;
        else if (byte === BACKSLASH) this.isEscaped = true;
        else if (byte === QUOTE) this.isInText = false;
      } else if (this.arrayState !== 'within') {
        if (byte === OPEN_BRACKET && this.arrayState === 'before') {
          this.arrayState = 'within';
          itemsStart = i + 1;
        } else if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
          throw new SyntaxError('the body is not one JSON array');
      } else if (byte === QUOTE) this.isInText = true;
      else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) this.depth += 1;
      else if (this.depth > 0) this.depth -= byte === CLOSE_BRACKET || byte === CLOSE_BRACE ? 1 : 0;
      else if (byte === COMMA || byte === CLOSE_BRACKET) {
        if (byte === CLOSE_BRACKET) this.arrayState = 'behind';
        if (this.isInLongItem) itemsStart = i + 1;
        else itemsEnd = i;
        this.isInLongItem = false;
      }
    }
    const items = itemsEnd < itemsStart ? [] : this.parse(part.subarray(itemsStart, itemsEnd));
    if (this.arrayState === 'within' && !this.isInLongItem) {
      this.unfinishedItem = Buffer.concat([this.unfinishedItem, part.subarray(Math.max(itemsStart, itemsEnd + 1))]);
      this.isInLongItem = this.unfinishedItem.length > MAX_ITEM_BYTES;
      if (this.isInLongItem) [this.unfinishedItem, this.hasItems] = [Buffer.alloc(0), true];
    }
    return items;
  }

  /** Must be called after the last part. @throws SyntaxError if the array has not ended */
  throwIfUnfinished(): void {
    if (this.arrayState !== 'behind') throw new SyntaxError('the JSON array does not end');
  }

  private parse(lastPart: Buffer): unknown[] {
    const text = Buffer.concat([this.unfinishedItem, lastPart]).toString();
    this.unfinishedItem = Buffer.alloc(0);
    if (text.trim() === '' && (this.hasItems || this.arrayState === 'within'))
      throw new SyntaxError('an item is missing');
    this.hasItems = true;
    return JSON.parse(`[${text}]`) as unknown[];
  }
}
