import { createHash } from 'node:crypto';

/** A challenge of a web client's own (RFC 7636 section 4.2, S256). */
export function challengeProblem(text: unknown): string | null {
  return typeof text === 'string' && /^[\w-]{43}$/.test(text)
    ? null
    : 'must be the SHA-256 of the verifier in base64url, without padding';
}

/** The verifier of one (RFC 7636 section 4.1). */
export function verifierProblem(text: string): string | null {
  return /^[\w.~-]{43,128}$/.test(text) ? null : 'must be a verifier of 43 to 128 characters (RFC 7636)';
}

export function isVerifierOf(challenge: string, verifier: string): boolean {
  return createHash('sha256').update(verifier).digest('base64url') === challenge;
}
