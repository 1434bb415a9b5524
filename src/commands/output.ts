/** What a command has to say, on standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What goes wrong, on standard error. */
export function complain(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** How far it has come, on standard error, so that the answer alone is on standard output. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

const SILENT_MS = 2_000;

/** Says every two seconds for how long `work` has been going on: `publishing: 4 s`. */
export async function told<T>(what: string, work: Promise<T>): Promise<T> {
  const begun = performance.now();
  const timer = setInterval(() => tell(`${what}: ${Math.round((performance.now() - begun) / 1000)} s`), SILENT_MS);
  return work.finally(() => clearInterval(timer));
}
