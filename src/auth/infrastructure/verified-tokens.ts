import { hash } from 'node:crypto';

/** Ours have some 330 characters. */
const MAX_LENGTH = 512;

/**
 * A cache of the payloads of tokens whose syntax and signature were verified: neither can change while the key is the same.
 * Claims and session are judged at every request. Keyed by digest, so that no token stays in memory, and an entry has less
 * than a kibibyte.
 */
export class VerifiedTokens {
  private readonly payloads = new Map<string, unknown>();

  /** @param capacity how many are remembered; the oldest is forgotten first. */
  constructor(private readonly capacity = 10_000) {}

  /** Undefined: it must be verified. */
  payloadOf(token: string): unknown {
    return this.payloads.get(digest(token));
  }

  /** To be called with the verified payload of this token. */
  remember(token: string, payload: unknown): void {
    if (token.length > MAX_LENGTH) return;
    if (this.payloads.size >= this.capacity) {
      const oldest = this.payloads.keys().next();
      if (oldest.done !== true) this.payloads.delete(oldest.value);
    }
    this.payloads.set(digest(token), payload);
  }
}

function digest(token: string): string {
  return hash('sha256', token, 'base64url');
}
