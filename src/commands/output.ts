import { fstatSync, writeSync } from 'node:fs';
import { reasonOf } from '../platform/infrastructure/plain-file.js';

// A reader that ends early, such as `head`, takes nothing back, and is no refusal.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
process.stderr.on('error', () => undefined); // there is nowhere left to say so

/** The result of a command, on standard output. @throws Error where standard output is a file that cannot hold it */
export function print(line: string): void {
  const status = fstatSync(STANDARD_OUTPUT);
  if (status.isFIFO() || status.isSocket() || process.stdout.isTTY) process.stdout.write(`${line}\n`);
  else writeWhole(Buffer.from(`${line}\n`));
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

/** Problems and progress, on standard error. */
export function remark(line: string): void {
  process.stderr.write(`${line}\n`);
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
export function remarkPlaced(
  file: string,
  problems: readonly { line?: number; column?: number; message: string }[],
): void {
  for (const { line, column, message } of problems) remark(printable(`${file}:${line}:${column} ${message}`));
}

/** A file must not command the terminal that shows it. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '�');
}
