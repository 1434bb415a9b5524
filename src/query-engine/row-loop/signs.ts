// Characters of JSON, and tests of one byte or of sixteen at once.

export const LINE_FEED: u8 = 0x0a;
export const QUOTE: u8 = 0x22;
export const COMMA: u8 = 0x2c;
export const MINUS: u8 = 0x2d;
export const POINT: u8 = 0x2e;
export const ZERO: u8 = 0x30;
export const BACKSLASH: u8 = 0x5c;
export const OPEN_LIST: u8 = 0x5b;
export const CLOSE_LIST: u8 = 0x5d;
export const COLON: u8 = 0x3a;
/** Brackets of objects. Brackets of lists differ from them in the bit CURLY_BIT only. */
export const OPEN_CURLY: u8 = 0x7b;
export const CLOSE_CURLY: u8 = 0x7d;
export const CURLY_BIT: u8 = 0x20;
/** Words as little-endian numbers. */
export const NULL: u32 = 0x6c6c756e;
export const TRUE: u32 = 0x65757274;
export const FALSE_START: u32 = 0x736c6166;
export const CR_LF: u16 = 0x0a0d;

/** Whether a character after a backslash makes an escape that can be copied unchanged, which excludes `\u` and `\/`. */
export function isCopiedEscape(sign: u8): bool {
  return (
    sign === QUOTE ||
    sign === BACKSLASH ||
    sign === 0x62 /* b */ ||
    sign === 0x66 /* f */ ||
    sign === 0x6e /* n */ ||
    sign === 0x72 /* r */ ||
    sign === 0x74 /* t */
  );
}

export function isDigit(byte: u8): bool {
  return u8(byte - ZERO) <= 9;
}

export function continuesNumber(byte: u8): bool {
  return byte === POINT || byte === 0x65 || byte === 0x45;
}

export function isBlank(byte: u8): bool {
  return byte <= 0x20 && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}

export function endOfDigits(start: usize): usize {
  let place = start;
  while (isDigit(load<u8>(place))) place += 1;
  return place;
}

export function zerosFrom(start: usize): i32 {
  let place = start;
  while (load<u8>(place) === ZERO) place += 1;
  return i32(place - start);
}

/** Bit mask of quotes, backslashes and control characters among sixteen bytes. The lowest bit is the first byte. */
export function specialAt(place: usize): i32 {
  const bytes = v128.load(place);
  const signs = v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH)));
  return i8x16.bitmask(v128.or(signs, i8x16.lt_u(bytes, i8x16.splat(0x20))));
}

/** Bit mask of commas among sixteen bytes. */
export function commasAt(place: usize): i32 {
  return i8x16.bitmask(i8x16.eq(v128.load(place), i8x16.splat(COMMA)));
}

/** Bit mask of quotes and backslashes among sixteen bytes. */
export function quotesAt(place: usize): i32 {
  const bytes = v128.load(place);
  return i8x16.bitmask(v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH))));
}

/** Bit mask of structural characters (RFC 8259) and quotes among sixteen bytes. */
export function structureAt(place: usize): i32 {
  const bytes = v128.load(place);
  const curly = v128.or(bytes, i8x16.splat(CURLY_BIT));
  const brackets = v128.or(i8x16.eq(curly, i8x16.splat(OPEN_CURLY)), i8x16.eq(curly, i8x16.splat(CLOSE_CURLY)));
  const between = v128.or(i8x16.eq(bytes, i8x16.splat(COMMA)), i8x16.eq(bytes, i8x16.splat(COLON)));
  return i8x16.bitmask(v128.or(v128.or(brackets, between), i8x16.eq(bytes, i8x16.splat(QUOTE))));
}
