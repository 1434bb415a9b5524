import { fstatSync, writeSync } from 'node:fs';
import { NamedError } from '../kernel/errors.js';
import { reasonOf } from '../platform/files/plain-file.js';

// A reader that ends early, such as `head`, takes nothing back, and is no refusal.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
process.stderr.on('error', () => undefined); // there is nowhere left to say so

/** The result of a command, a line or several, on standard output. @throws Error where standard output is a file that cannot hold it */
export function print(lines: string | readonly string[]): void {
  printDocument(typeof lines === 'string' ? printable(lines) : lines.map(printable).join('\n'));
}

/** The same as JSON. @param indent blanks a level */
export function printJson(value: unknown, indent = 0): void {
  printDocument(escaped(JSON.stringify(value, null, indent)));
}

/** The same as it is: of JSON or YAML, in which what is not printable has been escaped. */
export function printDocument(text: string): void {
  const status = fstatSync(STANDARD_OUTPUT);
  if (status.isFIFO() || status.isSocket() || process.stdout.isTTY) process.stdout.write(`${text}\n`);
  else writeWhole(Buffer.from(`${text}\n`));
}

const STANDARD_OUTPUT = 1;

/** Node's stream takes a write that a full disk has cut short for a whole one. */
function writeWhole(bytes: Buffer): void {
  try {
    for (let written = 0; written < bytes.length;) written += writeSync(STANDARD_OUTPUT, bytes, written);
  } catch (error) {
    throw new Error(`standard output is cut off: ${reasonOf(error)}`, { cause: error });
  }
}

/** Problems and progress, on standard error: one line. */
export function remark(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

const REPORT_EVERY_MS = 2_000;

/**
 * Reports every two seconds how long `work` has taken: `publishing: 4 s`.
 * @param label or where the work is by now
 */
export async function withProgress<T>(label: string | (() => string), work: Promise<T>): Promise<T> {
  const begun = performance.now();
  const timer = setInterval(
    () => remark(`${typeof label === 'string' ? label : label()}: ${Math.round((performance.now() - begun) / 1000)} s`),
    REPORT_EVERY_MS,
  );
  return work.finally(() => clearInterval(timer));
}

/** Problems of a file, each behind its place. */
export function placedLines(
  file: string,
  problems: readonly { line?: number; column?: number; message: string }[],
): string[] {
  return problems.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`);
}

/** A command cannot work with what it was given: each problem is a line on standard error. Exit code 2. */
export class Unusable extends NamedError {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/** Control characters that a terminal interprets, without tabs and ends of lines, and characters of text direction. */
const COMMANDING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const ENDS_OF_LINES = /[\n\r\u2028\u2029]/g;

/** Commands to the CI: `::` at the beginning of a line (GitHub), `##[` and `##vso[` anywhere (GitHub, Azure). */
const CI_COMMAND = /^\s*:(?=:)|#(?=#(?:vso)?\[)/g;

/** Text on one line, without sequences that a terminal or a CI interprets as commands. */
export function printable(text: string): string {
  return text.replace(ENDS_OF_LINES, ' ').replace(COMMANDING, '�').replace(CI_COMMAND, '�');
}

/** The same JSON, or YAML with double quotes, with control characters escaped. */
export function escaped(text: string): string {
  return text.replace(COMMANDING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
