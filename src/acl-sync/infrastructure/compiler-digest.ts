import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** The code that the rules depend on, as built: the compiler and the access model. */
const PROGRAMS = ['compile', 'model'].map((folder) => new URL(`../../trino-rules/${folder}/`, import.meta.url));

/**
 * A digest of the compiler's code: equal digests and equal snapshots give equal bytes. A version number could stay the same while
 * the code changes.
 */
export function compilerDigest(): string {
  const digest = createHash('sha256');
  for (const folder of PROGRAMS) {
    const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
    for (const name of files.sort()) digest.update(`${name}\n`).update(readFileSync(new URL(name, folder)));
  }
  return digest.digest('hex');
}
