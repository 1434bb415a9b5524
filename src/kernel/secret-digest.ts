import { hash } from 'node:crypto';

/** What is kept of a secret that nobody can guess, so that a copy of the database or of the memory shows none: its SHA-256. */
export function secretDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
