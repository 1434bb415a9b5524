/** What a command has to say, on standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What goes wrong, on standard error. */
export function complain(line: string): void {
  process.stderr.write(`${line}\n`);
}
