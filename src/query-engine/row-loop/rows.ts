// AssemblyScript: compiled to WebAssembly by build.js, and called by infrastructure/wasm-row-loop.ts. Sixteen bytes at a time.

import {
  BACKSLASH,
  CLOSE_LIST,
  COMMA,
  FALS,
  MINUS,
  NULL,
  OPEN_LIST,
  POINT,
  QUOTE,
  RETURN_AND_FEED,
  TRUE,
  ZERO,
  commasAt,
  continuesNumber,
  endOfDigits,
  isBlank,
  isDigit,
  isSameEscape,
  specialAt,
  zerosFrom,
} from './signs';

/** What a call ended with: all rows are written, or a value or a sign is not one that can be copied. As domain/row-loop.ts has them. */
const WRITTEN = 0;
const VALUE = 1;
const NO_JSON = 2;
const OTHER_COUNT = 3;
const NO_LIST = 4;

/** Kinds of columns, as domain/row-loop.ts has them; any other is converted, but for NULL. */
const PLAIN: u8 = 0;
const DIGITS: u8 = 1;
const FLOAT: u8 = 2;

const JSON: i32 = 0;
const CSV: i32 = 2;

/** Decimal digits of which a double loses none; with which any can be written; and zeros behind `0.` without an exponent. */
const EXACT_DIGITS = 15;
const MOST_DIGITS = 17;
const MOST_ZEROS = 5;

/** Where reading and writing have come to, and the column of the value there. */
export let at: usize = 0;
export let to: usize = 0;
export let column: i32 = 0;

/** Writes rows with commas between them from there on. @param kinds a byte for each column */
export function begin(source: usize, length: usize, target: usize, kinds: usize, columns: i32, format: i32): i32 {
  at = source;
  to = target;
  column = -1;
  return pass(source + length, kinds, columns, format);
}

/** Goes on behind the value that it stopped at, and what was written in its place. */
export function resume(end: usize, read: usize, written: usize, kinds: usize, columns: i32, format: i32): i32 {
  at += read;
  to += written;
  column += 1;
  return pass(end, kinds, columns, format);
}

/** On from where it is, to the end of the rows or up to a value that is not copied. */
function pass(end: usize, kinds: usize, columns: i32, format: i32): i32 {
  for (;;) {
    if (column < 0) {
      if (format === JSON) put(COMMA);
      if (!takes(OPEN_LIST)) return NO_LIST;
      if (format !== CSV) put(OPEN_LIST);
      column = 0;
    }
    for (; column < columns; column += 1) {
      if (column > 0) {
        if (!takes(COMMA)) return OTHER_COUNT;
        put(COMMA);
      }
      skipBlanks();
      if (!cell(load<u8>(kinds + column), format)) return VALUE;
    }
    if (!takes(CLOSE_LIST)) return OTHER_COUNT;
    endRow(format);
    skipBlanks();
    if (at >= end) return WRITTEN;
    if (!takes(COMMA)) return NO_JSON;
    column = -1;
  }
  return NO_JSON;
}

function endRow(format: i32): void {
  if (format === CSV) {
    store<u16>(to, RETURN_AND_FEED);
    to += 2;
  } else {
    put(CLOSE_LIST);
    if (format !== JSON) put(0x0a);
  }
}

/** @returns false: it is written otherwise than it came. Nothing has been read and written then. */
function cell(kind: u8, format: i32): bool {
  const byte = load<u8>(at);
  if (byte === QUOTE) return format === CSV ? csvText(kind) : text(kind);
  if (byte === MINUS || isDigit(byte)) return kind === FLOAT ? float() : integer(kind, format);
  return word(kind, format);
}

/** NaN and the infinities are texts; digits in a text are a number all the same. */
function isText(kind: u8): bool {
  if (kind === PLAIN || kind === DIGITS) return true;
  const first = load<u8>(at + 1);
  return kind === FLOAT && first !== MINUS && !isDigit(first);
}

/** A text whose escapes are those that JSON.stringify writes. */
function text(kind: u8): bool {
  if (!isText(kind)) return false;
  let from = at + 1;
  let target = to + 1;
  for (;;) {
    v128.store(target, v128.load(from));
    const found = specialAt(from);
    const plain = found === 0 ? 16 : ctz(found);
    from += plain;
    target += plain;
    if (found === 0) continue;
    const sign = load<u8>(from);
    if (sign === QUOTE) break;
    if (sign !== BACKSLASH || !isSameEscape(load<u8>(from + 1))) return false;
    store<u16>(target, load<u16>(from));
    from += 2;
    target += 2;
  }
  store<u8>(to, QUOTE);
  store<u8>(target, QUOTE);
  at = from + 1;
  to = target + 1;
  return true;
}

/** In CSV, quotes are for commas and for an empty text alone. */
function csvText(kind: u8): bool {
  if (!isText(kind)) return false;
  let from = at + 1;
  let target = to;
  let commas = 0;
  for (;;) {
    v128.store(target, v128.load(from));
    const found = specialAt(from);
    const plain = found === 0 ? 16 : ctz(found);
    commas |= commasAt(from) & ((1 << plain) - 1);
    from += plain;
    target += plain;
    if (found !== 0) break;
  }
  if (load<u8>(from) !== QUOTE) return false;
  if (commas !== 0 || target === to) {
    memory.copy(to + 1, to, target - to);
    store<u8>(to, QUOTE);
    store<u8>(target + 1, QUOTE);
    target += 2;
  }
  at = from + 1;
  to = target;
  return true;
}

/** As JSON.stringify writes it: no zero in front, no negative zero. */
function integer(kind: u8, format: i32): bool {
  if (kind !== PLAIN && kind !== DIGITS) return false;
  const start = at + usize(load<u8>(at) === MINUS);
  const end = endOfDigits(start);
  if (!isInteger(start, end, kind === DIGITS ? i32.MAX_VALUE : EXACT_DIGITS)) return false;
  const isQuoted = kind === DIGITS && format !== CSV;
  if (isQuoted) put(QUOTE);
  copyTo(end);
  if (isQuoted) put(QUOTE);
  return true;
}

function isInteger(start: usize, end: usize, most: i32): bool {
  const length = i32(end - start);
  if (length === 0 || length > most || continuesNumber(load<u8>(end))) return false;
  return load<u8>(start) !== ZERO || end - at === 1;
}

/**
 * As JSON.stringify writes it, but for a whole one's `.0`, which is left out. One of sixteen or seventeen digits is taken as the engine
 * wrote it, which is the shortest of its double (Java's Double.toString).
 */
function float(): bool {
  const start = at + usize(load<u8>(at) === MINUS);
  const whole = endOfDigits(start);
  if (load<u8>(whole) !== POINT) {
    if (!isInteger(start, whole, EXACT_DIGITS)) return false;
    copyTo(whole);
    return true;
  }
  const isZero = load<u8>(start) === ZERO;
  const fraction = whole + 1;
  const end = endOfDigits(fraction);
  if (whole === start || (isZero && whole - start > 1) || end === fraction || continuesNumber(load<u8>(end)))
    return false;
  if (i32(end - start) - 1 > MOST_DIGITS + i32(isZero)) return false;
  const isWhole = load<u8>(end - 1) === ZERO;
  if (isWhole && (end !== fraction + 1 || (isZero && start > at))) return false;
  if (!isWhole && isZero && zerosFrom(fraction) > MOST_ZEROS) return false;
  copyTo(isWhole ? whole : end);
  at = end;
  return true;
}

/** NULL of any type; true and false. */
function word(kind: u8, format: i32): bool {
  const letters = load<u32>(at);
  if (letters === NULL) {
    if (format === CSV) at += 4;
    else copyTo(at + 4);
    return true;
  }
  if (kind !== PLAIN) return false;
  if (letters === TRUE) copyTo(at + 4);
  else if (letters === FALS && load<u8>(at + 4) === 0x65) copyTo(at + 5);
  else return false;
  return true;
}

/** Writes what lies before that place, as it came. */
function copyTo(end: usize): void {
  const length = end - at;
  for (let copied: usize = 0; copied < length; copied += 16) v128.store(to + copied, v128.load(at + copied));
  to += length;
  at = end;
}

function put(byte: u8): void {
  store<u8>(to, byte);
  to += 1;
}

/** Steps over that sign, if it is next. */
function takes(sign: u8): bool {
  skipBlanks();
  if (load<u8>(at) !== sign) return false;
  at += 1;
  return true;
}

function skipBlanks(): void {
  while (isBlank(load<u8>(at))) at += 1;
}
