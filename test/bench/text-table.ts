/** Rows of cells, the first one the heading, in columns as wide as their widest cell; numbers are right-aligned. */
export function textTable(lines: readonly (readonly string[])[]): string {
  const columns = Math.max(...lines.map((line) => line.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const cell = (text: string, width: number, isHeading: boolean) =>
    isHeading || !NUMBER.test(text) ? text.padEnd(width) : text.padStart(width);
  return lines
    .map((line, row) =>
      widths
        .map((width, i) => cell(line[i] ?? '', width, row === 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const NUMBER = /^[~≤]?[\d.,]+ ?[×%]?$/;
