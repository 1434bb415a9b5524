/** A line of CSV for programs (RFC 4180), with texts unchanged: NULL is an empty field, an empty text is `""`, a container is JSON. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}

/** A line of CSV for people: no text is a formula in a spreadsheet (CWE-1236), which may also separate cells by semicolons. */
export function csvLineForPeople(values: readonly unknown[]): string {
  // An apostrophe before a formula makes it a text, as OWASP advises.
  const inert = (value: unknown) => textOf(value).replace(/(?<=^|[;\t\r\n])(?=[=+\-@＝＋－＠\t\r\n])/g, "'");
  return csvLine(values.map((value) => (value === null || typeof value === 'number' ? value : inert(value))));
}

/** @param value a JSON value */
export function csvField(value: unknown): string {
  if (value === null) return '';
  const text = textOf(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
