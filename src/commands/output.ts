import { fstatSync, writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { NamedError } from '../kernel/errors.js';
import { reasonOf } from '../platform/files/plain-file.js';

// A reader that ends early, such as `head`, does not make the command fail.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
process.stderr.on('error', () => undefined); // there is no other output to report it to

/** Prints lines of a command's result to standard output. @throws Error if standard output is a file that cannot hold them */
export function print(lines: string | readonly string[]): void {
  printDocument(typeof lines === 'string' ? toPrintable(lines) : lines.map(toPrintable).join('\n'));
}

/** Prints a command's result as JSON. @param indent blanks for each level */
export function printJson(value: unknown, indent = 0): void {
  printDocument(escapeControlCharacters(JSON.stringify(value, null, indent)));
}

/** Prints JSON or YAML unchanged: unprintable characters in it are already escaped. */
export function printDocument(text: string): void {
  const outputStats = fstatSync(STANDARD_OUTPUT);
  if (outputStats.isFIFO() || outputStats.isSocket() || process.stdout.isTTY) process.stdout.write(`${text}\n`);
  else writeAll(Buffer.from(`${text}\n`));
}

const STANDARD_OUTPUT = 1;

/** Writes all bytes. Node's stream would not notice a write that a full disk cut short. */
function writeAll(bytes: Buffer): void {
  try {
    for (let offset = 0; offset < bytes.length;) offset += writeSync(STANDARD_OUTPUT, bytes, offset);
  } catch (error) {
    throw new Error(`standard output is cut off: ${reasonOf(error)}`, { cause: error });
  }
}

export function printRemark(line: string): void {
  process.stderr.write(`${toPrintable(line)}\n`);
}

const REPORT_INTERVAL_MS = 2_000;

/**
 * Reports every two seconds how long `work` has taken: `publishing: 4 s`.
 * @param label names the work, or returns the step that it has reached
 */
export async function withProgress<T>(label: string | (() => string), work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const timer = setInterval(
    () =>
      printRemark(
        `${typeof label === 'string' ? label : label()}: ${Math.round((performance.now() - startedAt) / 1000)} s`,
      ),
    REPORT_INTERVAL_MS,
  );
  return work.finally(() => clearInterval(timer));
}

/** Reports like `withProgress`, but from a thread, because `work` computes without a pause. */
export async function withProgressThread<T>(label: string, work: () => Promise<T>): Promise<T> {
  const workerData = { label, intervalMs: REPORT_INTERVAL_MS };
  const thread = new Worker(PROGRESS_PROGRAM, { eval: true, workerData, execArgv: [] });
  thread.on('error', () => undefined).unref();
  try {
    return await work();
  } finally {
    await thread.terminate();
  }
}

const PROGRESS_PROGRAM = `
  const { workerData: { label, intervalMs } } = require('node:worker_threads');
  let reports = 0;
  setInterval(() => {
    reports += 1;
    require('node:fs').writeSync(2, label + ': ' + (reports * intervalMs) / 1000 + ' s\\n');
  }, intervalMs);
`;

export function placedLines(
  file: string,
  problems: readonly { line?: number; column?: number; message: string }[],
): string[] {
  return problems.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`);
}

/** Thrown when a command cannot use its input. Each problem is a line on standard error; the exit code is 2. */
export class UnusableInput extends NamedError {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/** Control characters that a terminal interprets, except tabs and line ends, and characters that change the text's direction. */
const TERMINAL_CONTROLS =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const LINE_ENDS = /[\n\r\u2028\u2029]/g;

/** Beginnings of CI commands: `::` at the start of a line (GitHub), `##[` and `##vso[` anywhere (GitHub, Azure). */
const CI_COMMAND = /^\s*:(?=:)|#(?=#(?:vso)?\[)/g;

/** Text on one line, without sequences that a terminal or a CI interprets as commands. */
export function toPrintable(text: string): string {
  return text.replace(LINE_ENDS, ' ').replace(TERMINAL_CONTROLS, '�').replace(CI_COMMAND, '�');
}

/** Escapes control characters in JSON, or in YAML that has them only between double quotes. */
export function escapeControlCharacters(text: string): string {
  return text.replace(TERMINAL_CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
