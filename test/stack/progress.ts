const FIRST_WORD = 2_000;
const NEXT_WORD = 15_000;

/** `850 ms`, `12.3 s`, `4 min 11 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Does one piece of work and says how long it took; while it takes long, it says so, too. */
export async function told<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  let reminder: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    say(`  … ${what}`);
    reminder = setInterval(() => {
      say(`  … ${what}, ${duration(performance.now() - began)} so far`);
    }, NEXT_WORD);
  }, FIRST_WORD);
  try {
    return await summed(what, work);
  } finally {
    clearTimeout(first);
    clearInterval(reminder);
  }
}

/** Does work whose parts tell of themselves, and says how long it took in all. */
export async function summed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  say(`  ${what}: ${duration(performance.now() - began)}`);
  return result;
}
