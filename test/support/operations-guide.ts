import { readFileSync } from 'node:fs';

const guide = readFileSync('docs/operations.md', 'utf8');

/** Everything that the guide sets as code. */
export function codeInGuide(): string[] {
  return [...guide.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

/** The first cell of each row of a section's tables, without its backticks; the heads are left out. */
export function rowsOf(section: string): { name: string; cells: string[] }[] {
  return linesOf(section).flatMap((line) => {
    const cells = /^\| (.*) \|$/.exec(line)?.[1]?.split(/ +\| +/) ?? [];
    const name = /^`([^`]+)`/.exec(cells[0] ?? '')?.[1];
    return name === undefined ? [] : [{ name, cells }];
  });
}

/** The headings one level below that of a section. */
export function headingsOf(section: string): string[] {
  return linesOf(section).flatMap((line) => /^### (.*)$/.exec(line)?.[1] ?? []);
}

function linesOf(section: string): string[] {
  const text = new RegExp(`^## ${section}\n(.*?)(?=^## |(?![^]))`, 'ms').exec(guide)?.[1];
  if (text === undefined) throw new Error(`docs/operations.md has no section "${section}"`);
  return text.split('\n');
}
