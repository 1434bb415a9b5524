import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** All that rules follow from, besides a snapshot: the compiler and the model of access, as they were built. */
const PROGRAMS = ['compile', 'model'].map((room) => new URL(`../../trino-rules/${room}/`, import.meta.url));

/**
 * Which compiler this is: a digest of its program, because a version number is somebody's promise. Where it is the same, equal
 * snapshots give equal bytes.
 */
export function compilerDigest(): string {
  const digest = createHash('sha256');
  for (const folder of PROGRAMS) {
    const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
    for (const name of files.sort()) digest.update(`${name}\n`).update(readFileSync(new URL(name, folder)));
  }
  return digest.digest('hex');
}
