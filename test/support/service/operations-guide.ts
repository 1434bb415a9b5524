import { readFileSync } from 'node:fs';

const RUNBOOK = readFileSync('docs/operations.md', 'utf8');
const guide = `${RUNBOOK}\n${readFileSync('docs/operations-reference.md', 'utf8')}`;

/** The shell commands of the runbook, each with the heading that they stand under. */
export function commandBlocks(): { heading: string; script: string }[] {
  let heading = '';
  const parts = RUNBOOK.matchAll(/^#+ (.*)$|^( *)```sh\n([^]*?)^ *```$/gm);
  return [...parts].flatMap(([, title, , script]) => {
    if (title !== undefined) heading = title;
    return script === undefined ? [] : [{ heading, script }];
  });
}

/** Lines of the guide that people read: neither tables nor code. */
export function proseLines(): string[] {
  const withoutCode = guide.replace(/^ *```[^]*?^ *```$/gm, '');
  return withoutCode.split('\n').filter((line) => !line.startsWith('|'));
}

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

/** The text under a heading of the third level. */
export function entryOf(heading: string): string {
  return new RegExp(`^### ${heading}\n(.*?)(?=^##)`, 'ms').exec(guide)?.[1] ?? '';
}

/** The rows of a section's tables, in cells; heads and their lines are left out. */
export function tableOf(section: string): string[][] {
  const rows = linesOf(section).map(
    (line) =>
      /^\| (.*) \|$/
        .exec(line)?.[1]
        ?.trim()
        .split(/ +\| +/) ?? [],
  );
  return rows.filter(
    (cells, at) => cells.length > 0 && !/^-+$/.test(cells[0] ?? '') && (rows[at - 1]?.length ?? 0) > 0,
  );
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
