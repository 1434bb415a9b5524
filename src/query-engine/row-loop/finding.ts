// AssemblyScript, like writing.ts. Finds the same rows as domain/json-scanner.ts, which finds them one by one.

import {
  BACKSLASH,
  COLON,
  COMMA,
  OPEN_CURLY,
  CLOSE_CURLY,
  OPEN_LIST,
  QUOTE,
  CURLY_BIT,
  quotesAt,
  structureAt,
} from './signs';

/** Position after the last found row. */
export let behindRows: usize = 0;
/** Estimated heap bytes of the heaviest found row once it is parsed. */
export let heaviest: u32 = 0;

/** The limits and estimates of domain/json-scanner.ts. */
const MOST_DEPTH = 1_000;
const WEIGHT_OF_CONTAINER = 64;
const WEIGHT_OF_VALUE = 24;
const WEIGHT_OF_BYTE = 2;

/**
 * Finds whole rows with commas between them, up to the row that reaches `most` bytes. Stops before a row that is not complete, or that
 * only domain/json-scanner.ts can find. @returns the number of rows
 */
export function find(source: usize, length: usize, most: usize): i32 {
  const end = source + length;
  let count = 0;
  let start = source;
  behindRows = source;
  heaviest = 0;
  while (load<u8>(start) === OPEN_LIST) {
    const close = endOfRow(start, end);
    if (close === 0) break;
    count += 1;
    behindRows = close;
    if (close - source >= most) break;
    const comma = afterBlanks(close, end);
    if (load<u8>(comma) !== COMMA) break;
    start = afterBlanks(comma + 1, end);
  }
  return count;
}

/** Finds the end of a row, and updates `heaviest`. @returns the position after the row; 0: it is incomplete, or nested too deeply. */
function endOfRow(start: usize, end: usize): usize {
  let depth = 0;
  let containers = 0;
  let values = 1;
  let at = start;
  do {
    const byte = load<u8>(at);
    if (byte === QUOTE) {
      at = endOfText(at + 1, end);
    } else if (byte === COMMA || byte === COLON) {
      values += 1;
      at += 1;
    } else if ((byte | CURLY_BIT) === OPEN_CURLY) {
      depth += 1;
      containers += 1;
      if (depth > MOST_DEPTH) return 0;
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
  heaviest = max(heaviest, bytes * WEIGHT_OF_BYTE + containers * WEIGHT_OF_CONTAINER + values * WEIGHT_OF_VALUE);
  return at;
}

/** Position after the closing quote of a text; past the end if there is none. */
function endOfText(from: usize, end: usize): usize {
  let at = from;
  while (at <= end) {
    const found = quotesAt(at);
    at += found === 0 ? 16 : ctz(found);
    if (found === 0) continue;
    if (load<u8>(at) !== BACKSLASH) return at + 1;
    at += 2;
  }
  return at;
}

/** Position of the next structural character or quote, after numbers, words and blanks; past the end if there is none. */
function endOfWord(from: usize, end: usize): usize {
  let at = from;
  while (at <= end) {
    const found = structureAt(at);
    if (found !== 0) return at + ctz(found);
    at += 16;
  }
  return at;
}

function afterBlanks(from: usize, end: usize): usize {
  let at = from;
  while (at < end && load<u8>(at) <= 0x20) at += 1;
  return at;
}
