/**
 * A whole number in at most ten decimal digits, as commands, queries and settings take it; NaN: the text is none.
 * `Number` would read `0x10`, `1e1`, ` 7` and the empty text, too.
 */
export function decimal(text: string): number {
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
}
