const [MINUS, POINT, ZERO, NINE, LOWER_E, UPPER_E] = [0x2d, 0x2e, 0x30, 0x39, 0x65, 0x45];

/** Decimal digits of which a double loses none. */
export const EXACT_DIGITS = 15;

/** Decimal digits with which any double can be written. */
const MOST_DIGITS = 17;

/** JSON.stringify writes 0.000001 so, and smaller numbers with an exponent. */
const MOST_ZEROS = 5;

/**
 * The integer that begins there, as JSON.stringify writes it: no zero in front, no negative zero.
 * @returns where it ends; -1: another number, a longer one than `most` digits, or none.
 */
export function endOfInteger(source: Buffer, at: number, most: number): number {
  const start = source[at] === MINUS ? at + 1 : at;
  const end = endOfDigits(source, start);
  const length = end - start;
  if (length === 0 || length > most || continuesNumber(source[end])) return -1;
  return source[start] === ZERO && end - at > 1 ? -1 : end;
}

/**
 * The number that begins there, as JSON.stringify writes it, but for a whole one's `.0`. One of sixteen or seventeen digits is taken as
 * the engine wrote it, which is the shortest of its double (Java's Double.toString): making sure takes as long as writing a row.
 * @returns where it ends; -1: another number, or none.
 */
export function endOfFloat(source: Buffer, at: number): number {
  const start = source[at] === MINUS ? at + 1 : at;
  const whole = endOfDigits(source, start);
  const isZero = source[start] === ZERO;
  if (source[whole] !== POINT) return endOfInteger(source, at, EXACT_DIGITS);
  const end = endOfDigits(source, whole + 1);
  const isOther = whole === start || (isZero && whole - start > 1) || end === whole + 1;
  if (isOther || continuesNumber(source[end])) return -1;
  if (end - start - 1 > MOST_DIGITS + Number(isZero)) {
    const written = source.toString('latin1', at, end);
    return String(Number(written)) === written ? end : -1;
  }
  if (source[end - 1] === ZERO) return end === whole + 2 && !(isZero && start > at) ? end : -1;
  return isZero && zerosFrom(source, whole + 1) > MOST_ZEROS ? -1 : end;
}

/** Whether the float that ends there is written with a `.0`. */
export function isWholeFloat(source: Buffer, end: number): boolean {
  return source[end - 1] === ZERO && source[end - 2] === POINT;
}

function endOfDigits(source: Buffer, start: number): number {
  let at = start;
  for (let byte = source[at]; byte !== undefined && byte >= ZERO && byte <= NINE; byte = source[at]) at += 1;
  return at;
}

function zerosFrom(source: Buffer, start: number): number {
  let at = start;
  while (source[at] === ZERO) at += 1;
  return at - start;
}

function continuesNumber(byte: number | undefined): boolean {
  return byte === POINT || byte === LOWER_E || byte === UPPER_E;
}
