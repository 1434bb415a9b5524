import { Secret } from '../../kernel/secret.js';
import type { SettingsReader } from './settings-reader.js';

/** Texts of sample keys and placeholders. */
const SAMPLE = /openssl|required|example|sample|placeholder|change[-_ ]?me|your[-_ ]?(secret|key)/i;

/** Null: it is missing, which is a problem of the commands that sign tokens. */
export function readSecretKey(read: SettingsReader): Secret | null {
  const secretKey = read.secret('AUTH_SECRET_KEY') ?? '';
  if (secretKey === '') read.problem('AUTH_SECRET_KEY', 'is required');
  else if (isWeak(secretKey)) {
    read.problem(
      'AUTH_SECRET_KEY',
      'is weak: at least 32 random bytes, such as openssl rand -base64 48; no sample, no repetition, no PEM file',
    );
  }
  return secretKey === '' ? null : new Secret(secretKey);
}

/**
 * A key for HS256 needs 256 bits (RFC 7518 section 3.2) that no other party has: no PEM file (its public half is known, and
 * other services read it), no sample, no repeated block. Few different characters are a sign of a placeholder.
 */
function isWeak(secret: string): boolean {
  return (
    Buffer.byteLength(secret) < 32 ||
    new Set(secret).size < 10 ||
    secret.includes('-----BEGIN ') ||
    SAMPLE.test(secret) ||
    period(secret) * 2 <= secret.length
  );
}

/** The length of the shortest block that the text repeats, the last one perhaps cut off. */
function period(text: string): number {
  let length = 1;
  while (!text.startsWith(text.slice(length))) length += 1;
  return length;
}
