/**
 * RFC 4180: commas, CRLF, quotes where they are needed. NULL is nothing, an empty text is `""`, a container is JSON. For programs: texts
 * stay as they are.
 */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}

/** The same for people: no text is a formula in the spreadsheet that opens it (CWE-1236), whose cells may end at a semicolon, too. */
export function csvLineForPeople(values: readonly unknown[]): string {
  return csvLine(values.map((value) => (value === null || typeof value === 'number' ? value : inert(textOf(value)))));
}

/** By apostrophes, as OWASP advises. */
function inert(text: string): string {
  return text.replace(/(?<=^|[;\t\r\n])(?=[=+\-@＝＋－＠\t\r\n])/g, "'");
}

/** One field of it. @param value as JSON has it */
export function csvField(value: unknown): string {
  if (value === null) return '';
  const text = textOf(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
