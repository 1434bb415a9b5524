/** The browser's clock. */
export function now(): Date {
  return new Date();
}
