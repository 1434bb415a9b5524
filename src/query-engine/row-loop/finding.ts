// AssemblyScript, like writing.ts. Finds many rows at once, with the same result as domain/json-scanner.ts, which finds them one by one.

import {
  BACKSLASH,
  COLON,
  COMMA,
  OPEN_CURLY,
  CLOSE_CURLY,
  OPEN_LIST,
  QUOTE,
  CURLY_BIT,
  quoteMask,
  structureMask,
} from './characters';

/** Position after the last found row. */
export let endOfRows: usize = 0;
/** Estimated heap bytes of the largest found row once it is parsed. */
export let maxRowHeapBytes: u32 = 0;

/** These constants must have the values in domain/json-scanner.ts. */
const MAX_DEPTH = 1_000;
const CONTAINER_HEAP_BYTES = 64;
const VALUE_HEAP_BYTES = 24;
const HEAP_BYTES_PER_BYTE = 2;

/**
 * Finds whole rows with commas between them, up to the row that reaches `maxBytes` bytes. Stops before a row that is not complete, or that
 * only domain/json-scanner.ts can find. @returns the number of rows
 */
export function findRows(source: usize, length: usize, maxBytes: usize): i32 {
  const end = source + length;
  let count = 0;
  let start = source;
  endOfRows = source;
  maxRowHeapBytes = 0;
  while (load<u8>(start) === OPEN_LIST) {
    const rowEnd = endOfRow(start, end);
    if (rowEnd === 0) break;
    count += 1;
    endOfRows = rowEnd;
    if (rowEnd - source >= maxBytes) break;
    const commaPosition = afterBlanks(rowEnd, end);
    if (load<u8>(commaPosition) !== COMMA) break;
    start = afterBlanks(commaPosition + 1, end);
  }
  return count;
}

/** Finds the end of a row, and updates `maxRowHeapBytes`. @returns the position after the row; 0: the row is incomplete, or nested too deeply. */
function endOfRow(start: usize, end: usize): usize {
  let depth = 0;
  let containerCount = 0;
  let valueCount = 1;
  let at = start;
  do {
    const byte = load<u8>(at);
    if (byte === QUOTE) {
      at = endOfText(at + 1, end);
    } else if (byte === COMMA || byte === COLON) {
      valueCount += 1;
      at += 1;
    } else if ((byte | CURLY_BIT) === OPEN_CURLY) {
      depth += 1;
      containerCount += 1;
      if (depth > MAX_DEPTH) return 0;
      at += 1;
    } else if ((byte | CURLY_BIT) === CLOSE_CURLY) {
      depth -= 1;
      at += 1;
    } else {
      at = endOfWord(at, end);
    }
    if (at > end) return 0;
  } while (depth > 0);
  const bytes = u32(at - start);
  const heapBytes = bytes * HEAP_BYTES_PER_BYTE + containerCount * CONTAINER_HEAP_BYTES + valueCount * VALUE_HEAP_BYTES;
  maxRowHeapBytes = max(maxRowHeapBytes, heapBytes);
  return at;
}

/** Position after the closing quote of a text; past `end` if the text has no closing quote. */
function endOfText(from: usize, end: usize): usize {
  let at = from;
  while (at <= end) {
    const mask = quoteMask(at);
    at += mask === 0 ? 16 : ctz(mask);
    if (mask === 0) continue;
    if (load<u8>(at) !== BACKSLASH) return at + 1;
    at += 2;
  }
  return at;
}

/** Position of the next structural character or quote, after numbers, words and blanks; past `end` if neither follows. */
function endOfWord(from: usize, end: usize): usize {
  let at = from;
  while (at <= end) {
    const mask = structureMask(at);
    if (mask !== 0) return at + ctz(mask);
    at += 16;
  }
  return at;
}

function afterBlanks(from: usize, end: usize): usize {
  let at = from;
  while (at < end && load<u8>(at) <= 0x20) at += 1;
  return at;
}
