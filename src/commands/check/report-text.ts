import type { CheckedFile, FileFinding } from './check-file.js';

/** Longest excerpt beside a line number; rules files are often one line. */
const WIDTH = 100;
/** Characters before the place that are worth seeing. */
const BEFORE = 40;

/** Findings as people read them: place, severity, code, message, and the line with a caret below the place. */
export function reportLines(files: readonly CheckedFile[]): string[] {
  const parts = files.flatMap(({ text, findings }) => {
    const lines = text.split('\n');
    return findings.flatMap((finding) => [head(finding), ...excerpt(lines, finding), ...evidence(finding), '']);
  });
  return [...parts, summary(files)];
}

function head({ file, line, column, severity, code, message }: FileFinding): string {
  return `${file}:${line}:${column}: ${severity}: ${message} [${code}]`;
}

function excerpt(lines: readonly string[], { line, column, code }: FileFinding): string[] {
  const written = lines[line - 1]?.replace(/\r$/, '');
  if (written === undefined || code === 'file-unreadable') return [];
  const from = written.length <= WIDTH ? 0 : Math.max(0, column - 1 - BEFORE);
  const shown = written.slice(from, from + WIDTH);
  const number = String(line);
  const blank = shown.slice(0, column - 1 - from).replace(/[^\t]/gu, ' ');
  return [`  ${number} | ${shown}`, `  ${' '.repeat(number.length)} | ${blank}^`];
}

function evidence({ witness }: FileFinding): string[] {
  return witness === null ? [] : [`    = ${witness}`];
}

function summary(files: readonly CheckedFile[]): string {
  const findings = files.flatMap((file) => file.findings);
  const of = (severity: FileFinding['severity']): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const counts = [counted(of('error'), 'error'), counted(of('warning'), 'warning'), `${of('info')} info`].join(', ');
  return `${counted(files.length, 'file')} checked: ${findings.length === 0 ? 'nothing found' : counts}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
