// AssemblyScript: build.js compiles it to WebAssembly, and domain/row-loop.ts calls it. Processes sixteen bytes at a time.

import {
  BACKSLASH,
  CLOSE_LIST,
  COMMA,
  FALSE_START,
  LINE_FEED,
  MINUS,
  NULL,
  OPEN_LIST,
  POINT,
  QUOTE,
  CR_LF,
  TRUE,
  ZERO,
  commaMask,
  continuesNumber,
  endOfDigits,
  isBlank,
  isDigit,
  isCopiedEscape,
  specialMask,
  countZeros,
} from './characters';

/** Results of `runPass`, explained at PassOutcome in domain/row-loop.ts. */
const WRITTEN = 0;
const VALUE = 1;
const NO_JSON = 2;
const OTHER_COUNT = 3;
const NO_LIST = 4;

/** Kinds of columns as in domain/row-loop.ts. Values of any other kind are not copied, except NULL. */
const PLAIN: u8 = 0;
const DIGITS: u8 = 1;
const FLOAT: u8 = 2;

const JSON: i32 = 0;
const CSV: i32 = 2;

const EXACT_DIGITS = 15; // a double can lose further digits
const MAX_DIGITS = 17; // enough for every double
const MAX_ZEROS = 5; // after `0.`: for more zeros JSON.stringify writes an exponent

/** Where `runPass` last stopped: the positions in the input and in the output, and the column of the value there. */
export let readPosition: usize = 0;
export let writePosition: usize = 0;
export let column: i32 = 0;

/** Writes rows from the first one on. The rows at `source` have commas between them. @param kinds address of the columns' kinds, one byte each */
export function begin(source: usize, length: usize, target: usize, kinds: usize, columns: i32, format: i32): i32 {
  return runPass(source, target, -1, source + length, kinds, columns, format);
}

/** Continues after a value that could not be copied. @param read bytes of the value @param written bytes of the text that the caller wrote for it */
export function resume(inputEnd: usize, read: usize, written: usize, kinds: usize, columns: i32, format: i32): i32 {
  return runPass(readPosition + read, writePosition + written, column + 1, inputEnd, kinds, columns, format);
}

/** Writes rows up to their end, or up to a value that cannot be copied. @param nextColumn the column of the next value; −1: a row begins */
function runPass(from: usize, to: usize, nextColumn: i32, end: usize, kinds: usize, columns: i32, format: i32): i32 {
  for (;;) {
    if (nextColumn < 0) {
      if (format === JSON) store<u8>(to++, COMMA);
      from = afterBlanks(from);
      if (load<u8>(from++) !== OPEN_LIST) return NO_LIST;
      if (format !== CSV) store<u8>(to++, OPEN_LIST);
      nextColumn = 0;
    }
    for (; nextColumn < columns; nextColumn += 1) {
      if (nextColumn > 0) {
        from = afterBlanks(from);
        if (load<u8>(from++) !== COMMA) return OTHER_COUNT;
        store<u8>(to++, COMMA);
      }
      from = afterBlanks(from);
      const positions = copyValue(from, to, load<u8>(kinds + nextColumn), format);
      if (positions === CANNOT_COPY) {
        readPosition = from;
        writePosition = to;
        column = nextColumn;
        return VALUE;
      }
      from = usize(positions);
      to = writePositionOf(positions);
    }
    from = afterBlanks(from);
    if (load<u8>(from++) !== CLOSE_LIST) return OTHER_COUNT;
    to = endOfRow(to, format);
    from = afterBlanks(from);
    if (from >= end) break;
    if (load<u8>(from++) !== COMMA) return NO_JSON;
    nextColumn = -1;
  }
  writePosition = to;
  return WRITTEN;
}

/** Writes the end of a row. @returns the position after it */
function endOfRow(to: usize, format: i32): usize {
  if (format === CSV) {
    store<u16>(to, CR_LF);
    return to + 2;
  }
  store<u8>(to, CLOSE_LIST);
  if (format === JSON) return to + 1;
  store<u8>(to + 1, LINE_FEED);
  return to + 2;
}

/** Positions of reading and writing after a value, in one number, so that both stay in registers. */
type PackedPositions = u64;
const CANNOT_COPY: PackedPositions = 0;

function packPositions(read: usize, written: usize): PackedPositions {
  return (u64(written) << 32) | u64(read);
}

function writePositionOf(packed: PackedPositions): usize {
  return usize(packed >> 32);
}

/** Copies the value at `at` to `to`. */
function copyValue(at: usize, to: usize, kind: u8, format: i32): PackedPositions {
  const byte = load<u8>(at);
  if (byte === QUOTE) return isText(at, kind) ? (format === CSV ? copyCsvText(at, to) : copyText(at, to)) : CANNOT_COPY;
  if (byte === MINUS || isDigit(byte)) return kind === FLOAT ? copyFloat(at, to) : copyInteger(at, to, kind, format);
  return copyWord(at, to, kind, format);
}

/** Whether a quoted value can be copied as text, such as NaN in a float column. */
function isText(at: usize, kind: u8): bool {
  if (kind === PLAIN || kind === DIGITS) return true;
  const firstByte = load<u8>(at + 1);
  return kind === FLOAT && firstByte !== MINUS && !isDigit(firstByte);
}

/** Copies a JSON text unchanged. Returns CANNOT_COPY if JSON.stringify would write the text differently. */
function copyText(at: usize, to: usize): PackedPositions {
  store<u8>(to, QUOTE);
  let from = at + 1;
  let target = to + 1;
  for (;;) {
    v128.store(target, v128.load(from));
    const mask = specialMask(from);
    const plainLength = mask === 0 ? 16 : ctz(mask);
    from += plainLength;
    target += plainLength;
    if (mask === 0) continue;
    const character = load<u8>(from);
    if (character === QUOTE) break;
    if (character !== BACKSLASH || !isCopiedEscape(load<u8>(from + 1))) return CANNOT_COPY;
    store<u16>(target, load<u16>(from));
    from += 2;
    target += 2;
  }
  return packPositions(from + 1, target + 1);
}

/** Copies a text to CSV, in quotes only if it is empty or contains commas. */
function copyCsvText(at: usize, to: usize): PackedPositions {
  let from = at + 1;
  let target = to;
  let commaBits = 0;
  for (;;) {
    v128.store(target, v128.load(from));
    const mask = specialMask(from);
    const plainLength = mask === 0 ? 16 : ctz(mask);
    commaBits |= commaMask(from) & ((1 << plainLength) - 1);
    from += plainLength;
    target += plainLength;
    if (mask !== 0) break;
  }
  if (load<u8>(from) !== QUOTE) return CANNOT_COPY;
  if (commaBits !== 0 || target === to) {
    memory.copy(to + 1, to, target - to);
    store<u8>(to, QUOTE);
    store<u8>(target + 1, QUOTE);
    target += 2;
  }
  return packPositions(from + 1, target);
}

/** Copies an integer of a PLAIN or DIGITS column. Not copied: `-0`, leading zeros, and in a PLAIN column more than EXACT_DIGITS digits. */
function copyInteger(at: usize, to: usize, kind: u8, format: i32): PackedPositions {
  if (kind !== PLAIN && kind !== DIGITS) return CANNOT_COPY;
  const end = endOfInteger(at, kind === DIGITS ? i32.MAX_VALUE : EXACT_DIGITS);
  if (end === 0) return CANNOT_COPY;
  if (kind === PLAIN || format === CSV) return copyBytes(at, end, to);
  store<u8>(to, QUOTE);
  const target = writePositionOf(copyBytes(at, end, to + 1));
  store<u8>(target, QUOTE);
  return packPositions(end, target + 1);
}

/** The position after an integer of at most `maxDigits` digits; 0: no such integer is at `at`. */
function endOfInteger(at: usize, maxDigits: i32): usize {
  const start = at + usize(load<u8>(at) === MINUS);
  const end = endOfDigits(start);
  const length = i32(end - start);
  if (length === 0 || length > maxDigits || continuesNumber(load<u8>(end))) return 0;
  return load<u8>(start) !== ZERO || end - at === 1 ? end : 0;
}

/**
 * Copies a number as JSON.stringify would write it. A number with a point may have up to MAX_DIGITS digits, because the engine (Java's
 * Double.toString) writes a double with as few digits as JavaScript.
 */
function copyFloat(at: usize, to: usize): PackedPositions {
  const start = at + usize(load<u8>(at) === MINUS);
  const wholeEnd = endOfDigits(start);
  if (load<u8>(wholeEnd) !== POINT) {
    const integerEnd = endOfInteger(at, EXACT_DIGITS);
    return integerEnd === 0 ? CANNOT_COPY : copyBytes(at, integerEnd, to);
  }
  const isZero = load<u8>(start) === ZERO;
  const fractionStart = wholeEnd + 1;
  const end = endOfDigits(fractionStart);
  if (wholeEnd === start || (isZero && wholeEnd - start > 1) || end === fractionStart || continuesNumber(load<u8>(end)))
    return CANNOT_COPY;
  if (i32(end - start) - 1 > MAX_DIGITS + i32(isZero)) return CANNOT_COPY;
  const endsInZero = load<u8>(end - 1) === ZERO;
  if (endsInZero && (end !== fractionStart + 1 || (isZero && start > at))) return CANNOT_COPY;
  if (!endsInZero && isZero && countZeros(fractionStart) > MAX_ZEROS) return CANNOT_COPY;
  return endsInZero ? packPositions(end, writePositionOf(copyBytes(at, wholeEnd, to))) : copyBytes(at, end, to);
}

/** Copies true and false in a plain column, and null in any column. In CSV a null becomes an empty field. */
function copyWord(at: usize, to: usize, kind: u8, format: i32): PackedPositions {
  const fourBytes = load<u32>(at);
  if (fourBytes === NULL) return format === CSV ? packPositions(at + 4, to) : copyBytes(at, at + 4, to);
  if (kind !== PLAIN) return CANNOT_COPY;
  if (fourBytes === TRUE) return copyBytes(at, at + 4, to);
  return fourBytes === FALSE_START && load<u8>(at + 4) === 0x65 ? copyBytes(at, at + 5, to) : CANNOT_COPY;
}

/** Copies the bytes from `at` up to `end`. */
function copyBytes(at: usize, end: usize, to: usize): PackedPositions {
  const length = end - at;
  for (let copied: usize = 0; copied < length; copied += 16) v128.store(to + copied, v128.load(at + copied));
  return packPositions(end, to + length);
}

function afterBlanks(at: usize): usize {
  while (isBlank(load<u8>(at))) at += 1;
  return at;
}
