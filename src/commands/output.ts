// A reader that ends early, such as `head`, takes nothing back, and is no refusal.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

/** The result of a command, on standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
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

/** A file must not command the terminal that shows it. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '�');
}
