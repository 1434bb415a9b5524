import { createInterface } from 'node:readline';

/**
 * Reads the result of each statement on the input, one a line, and prints a line of JSON for each: rows, and milliseconds to
 * the first and to the last of them.
 */
export async function serveStatements(read: (sql: string, onFirst: () => void) => Promise<number>): Promise<void> {
  for await (const sql of createInterface({ input: process.stdin })) {
    const start = performance.now();
    let first = 0;
    const rows = await read(sql, () => void (first ||= performance.now() - start));
    console.log(JSON.stringify({ rows, first, all: performance.now() - start }));
  }
}
