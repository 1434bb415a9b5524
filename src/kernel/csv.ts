/** RFC 4180: commas, CRLF, quotes where they are needed. NULL is nothing, an empty text is `""`, a container is JSON. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}

/** One field of it. @param value as JSON has it */
export function csvField(value: unknown): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
