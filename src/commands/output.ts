/** What a command has to say, on standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What is said beside the answer, on standard error: what goes wrong, and how far it has come. */
export function remark(line: string): void {
  process.stderr.write(`${line}\n`);
}

const SILENT_MS = 2_000;

/** Says every two seconds for how long `work` has been going on: `publishing: 4 s`. */
export async function told<T>(what: string, work: Promise<T>): Promise<T> {
  const begun = performance.now();
  const timer = setInterval(() => remark(`${what}: ${Math.round((performance.now() - begun) / 1000)} s`), SILENT_MS);
  return work.finally(() => clearInterval(timer));
}
