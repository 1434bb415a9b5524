import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

const BUILT = new URL('../../../dist/trino-rules/', import.meta.url);

/** The code that the rules depend on: the compiler and what it reads of the model. */
const FOLDERS = ['compile', 'model'];

/**
 * A digest of the compiler's code: equal digests and equal snapshots give equal bytes. A version number could stay the same while
 * the code changes.
 */
export function compilerDigest(): string {
  const digest = createHash('sha256');
  for (const name of FOLDERS) {
    const folder = new URL(`${name}/`, BUILT);
    const files = readdirSync(folder).filter((file) => file.endsWith('.js'));
    for (const file of files.sort()) digest.update(`${file}\n`).update(readFileSync(new URL(file, folder)));
  }
  return digest.digest('hex');
}
