/** A whole number of at most ten decimal digits, else NaN. `Number` would also read `0x10`, `1e1`, ` 7` and the empty text. */
export function parseDecimal(text: string): number {
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
}
