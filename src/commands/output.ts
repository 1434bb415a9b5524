/** The result of a command, on standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Problems and progress, on standard error. */
export function remark(line: string): void {
  process.stderr.write(`${line}\n`);
}

const REPORT_EVERY_MS = 2_000;

/** Reports every two seconds how long `work` has taken: `publishing: 4 s`. */
export async function withProgress<T>(label: string, work: Promise<T>): Promise<T> {
  const begun = performance.now();
  const timer = setInterval(
    () => remark(`${label}: ${Math.round((performance.now() - begun) / 1000)} s`),
    REPORT_EVERY_MS,
  );
  return work.finally(() => clearInterval(timer));
}
