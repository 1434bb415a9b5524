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
  const since = () => duration(performance.now() - began);
  let reminder: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    say(`  … ${what}`);
    reminder = setInterval(() => {
      say(`  … ${what}, ${since()} so far`);
    }, NEXT_WORD);
  }, FIRST_WORD);
  try {
    const result = await work();
    say(`  ${what}: ${since()}`);
    return result;
  } finally {
    clearTimeout(first);
    clearInterval(reminder);
  }
}
