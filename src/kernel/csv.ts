/** A line of CSV for programs (RFC 4180), with texts unchanged: NULL is an empty field, an empty text is `""`, arrays and objects are JSON. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}

/** A line of CSV for people. An apostrophe keeps spreadsheets from running a text as a formula (CWE-1236, as OWASP advises). */
export function csvLineForPeople(values: readonly unknown[]): string {
  // Some spreadsheets split fields at semicolons, so a formula may also begin after one.
  const escapeFormulas = (value: unknown) => textOf(value).replace(/(?<=^|[;\t\r\n])(?=[=+\-@＝＋－＠\t\r\n])/g, "'");
  return csvLine(values.map((value) => (value === null || typeof value === 'number' ? value : escapeFormulas(value))));
}

/** A field of a CSV line. @param value a JSON value */
export function csvField(value: unknown): string {
  if (value === null) return '';
  const text = textOf(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
