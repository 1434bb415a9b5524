import { NamedError } from '../../kernel/named-error.js';
import type { TokenFailure } from './service-token.js';

/** The Bearer token that every request to the engine carries. */
export abstract class ServiceTokenSource {
  /**
   * The token that is valid now; null when tokens are switched off.
   * @param signal ends this caller's waiting only, never an acquisition that others wait for.
   * @throws TokenUnavailable when there is none and none can be had.
   */
  abstract current(signal?: AbortSignal): Promise<string | null>;
  /** After a 401: another token than `refused`. Concurrent callers get the same new one. */
  abstract replacing(refused: string | null, signal?: AbortSignal): Promise<string | null>;
  /** The newest token there was, though it may have expired. */
  abstract last(): string | null;
  /** Whether requests can carry a token that is valid now, or need none. */
  abstract isValid(): boolean;
  /** Renews the token in the background until the signal is aborted. Never rejects. */
  abstract keepFresh(signal: AbortSignal): Promise<void>;
  /** Closes idle connections. */
  abstract close(): void;
}

/** Told what becomes of tokens. */
export interface TokenObserver {
  /** @param expiresAt milliseconds since 1970 */
  renewed(expiresAt: number): void;
  failed(reason: TokenFailure): void;
}

export const UNOBSERVED: TokenObserver = { renewed: () => undefined, failed: () => undefined };

/** There is no valid token and none can be obtained. The message is private, and holds no secret. */
export class TokenUnavailable extends NamedError {}

/** SERVICE_QUERY_JWT_ENABLED=false: requests carry no Bearer header. */
export const NO_SERVICE_TOKENS: ServiceTokenSource = {
  current: () => Promise.resolve(null),
  replacing: () => Promise.resolve(null),
  last: () => null,
  isValid: () => true,
  keepFresh: () => Promise.resolve(),
  close: () => undefined,
};
