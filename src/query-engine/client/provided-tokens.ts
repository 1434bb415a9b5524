import { unlessAborted } from '../../kernel/unless-aborted.js';
import { BEARER } from '../domain/service-token.js';
import { ServiceTokenSource, TokenUnavailable } from '../domain/service-token-source.js';

/**
 * Called before every request: it keeps its token for as long as that is valid, and gives another one when the engine refused
 * the last, which it is then told.
 */
export type TokenProvider = (refused: string | null) => string | Promise<string>;

/** The tokens of somebody who knows when they need another one. */
export class ProvidedTokens extends ServiceTokenSource {
  private newest: string | null = null;

  constructor(private readonly provider: TokenProvider) {
    super();
  }

  override async current(signal?: AbortSignal): Promise<string> {
    return this.ask(null, signal);
  }

  override async replacing(refused: string | null, signal?: AbortSignal): Promise<string> {
    return this.ask(refused, signal);
  }

  override last(): string | null {
    return this.newest;
  }

  override isValid(): boolean {
    return true;
  }

  override keepFresh(): Promise<void> {
    return Promise.resolve();
  }

  override close(): void {
    // Nothing was opened.
  }

  private async ask(refused: string | null, signal: AbortSignal | undefined): Promise<string> {
    try {
      const token = await unlessAborted(Promise.resolve(this.provider(refused)), signal);
      if (!BEARER.test(token)) throw new TokenUnavailable('the token has characters that no Bearer token has');
      this.newest = token;
      return token;
    } catch (error) {
      signal?.throwIfAborted();
      throw new TokenUnavailable(error instanceof Error ? error.message : 'unknown', { cause: error });
    }
  }
}
