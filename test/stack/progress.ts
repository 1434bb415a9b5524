const FIRST_REPORT_MS = 2_000;
const REPORT_INTERVAL_MS = 15_000;

/** `850 ms`, `12.3 s`, `4 min 11 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Runs a step and reports its duration; reports repeatedly while it takes long. */
export async function withProgress<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  let reminder: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    report(`  … ${what}`);
    reminder = setInterval(() => {
      report(`  … ${what}, ${duration(performance.now() - began)} so far`);
    }, REPORT_INTERVAL_MS);
  }, FIRST_REPORT_MS);
  try {
    return await timed(what, work);
  } finally {
    clearTimeout(first);
    clearInterval(reminder);
  }
}

/** Runs work that reports its own steps, and reports the total duration. */
export async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  report(`  ${what}: ${duration(performance.now() - began)}`);
  return result;
}
