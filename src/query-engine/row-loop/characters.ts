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
/** The words `null`, `true`, the first four letters of `false`, and CR LF, as little-endian numbers. */
export const NULL: u32 = 0x6c6c756e;
export const TRUE: u32 = 0x65757274;
export const FALSE_START: u32 = 0x736c6166;
export const CR_LF: u16 = 0x0a0d;

/** Whether a character after a backslash makes an escape that can be copied unchanged. `\u` and `\/` cannot. */
export function isCopiedEscape(character: u8): bool {
  return (
    character === QUOTE ||
    character === BACKSLASH ||
    character === 0x62 /* b */ ||
    character === 0x66 /* f */ ||
    character === 0x6e /* n */ ||
    character === 0x72 /* r */ ||
    character === 0x74 /* t */
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
  let position = start;
  while (isDigit(load<u8>(position))) position += 1;
  return position;
}

export function countZeros(start: usize): i32 {
  let position = start;
  while (load<u8>(position) === ZERO) position += 1;
  return i32(position - start);
}

/** Bit mask of quotes, backslashes and control characters among sixteen bytes. The lowest bit is the first byte. */
export function specialMask(position: usize): i32 {
  const bytes = v128.load(position);
  const quoteOrBackslash = v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH)));
  return i8x16.bitmask(v128.or(quoteOrBackslash, i8x16.lt_u(bytes, i8x16.splat(0x20))));
}

/** Bit mask of commas among sixteen bytes. */
export function commaMask(position: usize): i32 {
  return i8x16.bitmask(i8x16.eq(v128.load(position), i8x16.splat(COMMA)));
}

/** Bit mask of quotes and backslashes among sixteen bytes. */
export function quoteMask(position: usize): i32 {
  const bytes = v128.load(position);
  return i8x16.bitmask(v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH))));
}

/** Bit mask of structural characters (RFC 8259) and quotes among sixteen bytes. */
export function structureMask(position: usize): i32 {
  const bytes = v128.load(position);
  const braces = v128.or(bytes, i8x16.splat(CURLY_BIT));
  const brackets = v128.or(i8x16.eq(braces, i8x16.splat(OPEN_CURLY)), i8x16.eq(braces, i8x16.splat(CLOSE_CURLY)));
  const separators = v128.or(i8x16.eq(bytes, i8x16.splat(COMMA)), i8x16.eq(bytes, i8x16.splat(COLON)));
  return i8x16.bitmask(v128.or(v128.or(brackets, separators), i8x16.eq(bytes, i8x16.splat(QUOTE))));
}
