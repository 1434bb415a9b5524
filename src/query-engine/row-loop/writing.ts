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
  commasAt,
  continuesNumber,
  endOfDigits,
  isBlank,
  isDigit,
  isCopiedEscape,
  specialAt,
  zerosFrom,
} from './signs';

/** How a pass ended (PassEnd of domain/row-loop.ts). */
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

/** Digits that a double keeps exactly; digits that suffice for every double; the most zeros after `0.` that JSON.stringify writes. */
const EXACT_DIGITS = 15;
const MOST_DIGITS = 17;
const MOST_ZEROS = 5;

/** Positions of reading and writing at which the last pass stopped, and the column of the value there. */
export let at: usize = 0;
export let to: usize = 0;
export let column: i32 = 0;

/** Begins a pass over rows with commas between them at `source`. @param kinds address of a byte for each column */
export function begin(source: usize, length: usize, target: usize, kinds: usize, columns: i32, format: i32): i32 {
  return pass(source, target, -1, source + length, kinds, columns, format);
}

/** Continues after the value at which the pass stopped, and after the text that the caller wrote for it. */
export function resume(end: usize, read: usize, written: usize, kinds: usize, columns: i32, format: i32): i32 {
  return pass(at + read, to + written, column + 1, end, kinds, columns, format);
}

/** Writes rows up to their end, or up to a value that cannot be copied. @param next the next column; −1: a row begins */
function pass(from: usize, target: usize, next: i32, end: usize, kinds: usize, columns: i32, format: i32): i32 {
  for (;;) {
    if (next < 0) {
      if (format === JSON) store<u8>(target++, COMMA);
      from = afterBlanks(from);
      if (load<u8>(from++) !== OPEN_LIST) return NO_LIST;
      if (format !== CSV) store<u8>(target++, OPEN_LIST);
      next = 0;
    }
    for (; next < columns; next += 1) {
      if (next > 0) {
        from = afterBlanks(from);
        if (load<u8>(from++) !== COMMA) return OTHER_COUNT;
        store<u8>(target++, COMMA);
      }
      from = afterBlanks(from);
      const cell = copied(from, target, load<u8>(kinds + next), format);
      if (cell === REFUSED) {
        at = from;
        to = target;
        column = next;
        return VALUE;
      }
      from = usize(cell);
      target = writtenOf(cell);
    }
    from = afterBlanks(from);
    if (load<u8>(from++) !== CLOSE_LIST) return OTHER_COUNT;
    target = endOfRow(target, format);
    from = afterBlanks(from);
    if (from >= end) break;
    if (load<u8>(from++) !== COMMA) return NO_JSON;
    next = -1;
  }
  to = target;
  return WRITTEN;
}

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
type Places = u64;
/** The value cannot be copied. */
const REFUSED: Places = 0;

function behind(read: usize, written: usize): Places {
  return (u64(written) << 32) | u64(read);
}

function writtenOf(places: Places): usize {
  return usize(places >> 32);
}

/** Copies the value at `at` to `to`. */
function copied(at: usize, to: usize, kind: u8, format: i32): Places {
  const byte = load<u8>(at);
  if (byte === QUOTE) return isText(at, kind) ? (format === CSV ? csvText(at, to) : text(at, to)) : REFUSED;
  if (byte === MINUS || isDigit(byte)) return kind === FLOAT ? float(at, to) : integer(at, to, kind, format);
  return word(at, to, kind, format);
}

/** Whether a quoted value can be copied as text. In float columns these are NaN and the infinities, but not quoted digits. */
function isText(at: usize, kind: u8): bool {
  if (kind === PLAIN || kind === DIGITS) return true;
  const first = load<u8>(at + 1);
  return kind === FLOAT && first !== MINUS && !isDigit(first);
}

/** Copies a text if JSON.stringify would write the same escapes. */
function text(at: usize, to: usize): Places {
  store<u8>(to, QUOTE);
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
    if (sign !== BACKSLASH || !isCopiedEscape(load<u8>(from + 1))) return REFUSED;
    store<u16>(target, load<u16>(from));
    from += 2;
    target += 2;
  }
  return behind(from + 1, target + 1);
}

/** Copies a text to CSV, in quotes only if it is empty or contains commas. */
function csvText(at: usize, to: usize): Places {
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
  if (load<u8>(from) !== QUOTE) return REFUSED;
  if (commas !== 0 || target === to) {
    memory.copy(to + 1, to, target - to);
    store<u8>(to, QUOTE);
    store<u8>(target + 1, QUOTE);
    target += 2;
  }
  return behind(from + 1, target);
}

/** Copies an integer that JSON.stringify would write as it is: no leading zero, no negative zero. */
function integer(at: usize, to: usize, kind: u8, format: i32): Places {
  if (kind !== PLAIN && kind !== DIGITS) return REFUSED;
  const end = endOfInteger(at, kind === DIGITS ? i32.MAX_VALUE : EXACT_DIGITS);
  if (end === 0) return REFUSED;
  if (kind === PLAIN || format === CSV) return copy(at, end, to);
  store<u8>(to, QUOTE);
  const target = writtenOf(copy(at, end, to + 1));
  store<u8>(target, QUOTE);
  return behind(end, target + 1);
}

/** The position after an integer of at most `most` digits; 0: there is none. */
function endOfInteger(at: usize, most: i32): usize {
  const start = at + usize(load<u8>(at) === MINUS);
  const end = endOfDigits(start);
  const length = i32(end - start);
  if (length === 0 || length > most || continuesNumber(load<u8>(end))) return 0;
  return load<u8>(start) !== ZERO || end - at === 1 ? end : 0;
}

/**
 * Copies a number that JSON.stringify would write unchanged, and leaves out `.0` of a whole number. Sixteen or seventeen digits are copied,
 * because the engine writes the shortest form of a double (Java's Double.toString).
 */
function float(at: usize, to: usize): Places {
  const start = at + usize(load<u8>(at) === MINUS);
  const whole = endOfDigits(start);
  if (load<u8>(whole) !== POINT) {
    const last = endOfInteger(at, EXACT_DIGITS);
    return last === 0 ? REFUSED : copy(at, last, to);
  }
  const isZero = load<u8>(start) === ZERO;
  const fraction = whole + 1;
  const end = endOfDigits(fraction);
  if (whole === start || (isZero && whole - start > 1) || end === fraction || continuesNumber(load<u8>(end)))
    return REFUSED;
  if (i32(end - start) - 1 > MOST_DIGITS + i32(isZero)) return REFUSED;
  const isWhole = load<u8>(end - 1) === ZERO;
  if (isWhole && (end !== fraction + 1 || (isZero && start > at))) return REFUSED;
  if (!isWhole && isZero && zerosFrom(fraction) > MOST_ZEROS) return REFUSED;
  return isWhole ? behind(end, writtenOf(copy(at, whole, to))) : copy(at, end, to);
}

/** Copies NULL of any kind, and true and false. */
function word(at: usize, to: usize, kind: u8, format: i32): Places {
  const letters = load<u32>(at);
  if (letters === NULL) return format === CSV ? behind(at + 4, to) : copy(at, at + 4, to);
  if (kind !== PLAIN) return REFUSED;
  if (letters === TRUE) return copy(at, at + 4, to);
  return letters === FALSE_START && load<u8>(at + 4) === 0x65 ? copy(at, at + 5, to) : REFUSED;
}

/** Copies the bytes from `at` up to `end`. */
function copy(at: usize, end: usize, to: usize): Places {
  const length = end - at;
  for (let copied: usize = 0; copied < length; copied += 16) v128.store(to + copied, v128.load(at + copied));
  return behind(end, to + length);
}

function afterBlanks(at: usize): usize {
  while (isBlank(load<u8>(at))) at += 1;
  return at;
}
