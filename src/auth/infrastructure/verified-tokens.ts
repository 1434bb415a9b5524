import { hash } from 'node:crypto';

/** Ours have some 330 characters. */
const MAX_LENGTH = 512;

/**
 * The payloads of tokens whose form and signature were found good, so that they need not be proved again at the next request:
 * neither can change while the key lives. Everything else about a token is judged at every request, and by others.
 * Kept by digest: no token lies in memory, and an entry has less than a kibibyte whatever came in around it.
 */
export class VerifiedTokens {
  private readonly payloads = new Map<string, unknown>();

  /** @param capacity how many are remembered; the oldest is forgotten first. */
  constructor(private readonly capacity = 10_000) {}

  /** Undefined: it must be proved. */
  payloadOf(token: string): unknown {
    return this.payloads.get(digest(token));
  }

  /** To be called with what the very token was proved to say. */
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
