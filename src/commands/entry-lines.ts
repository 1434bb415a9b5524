/** The lines of a list that a person keeps, without the blanks around them; blank ones and those that begin with `#` are left out. */
export function entryLines(text: string): { text: string; line: number }[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((written, i) => ({ text: written.trim(), line: i + 1 }))
    .filter((entry) => entry.text !== '' && !entry.text.startsWith('#'));
}
