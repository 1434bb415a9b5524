import { ServiceTokenSource, TokenUnavailable } from '../../../src/query-engine/domain/service-token.js';

/** Tokens `token-1`, `token-2`, …, a new one for each refusal. */
export class FakeServiceTokenSource extends ServiceTokenSource {
  /** While true, the provider is down and the token at hand has expired. */
  down = false;
  renewals = 0;

  override validToken(refused: string | null = null): Promise<string> {
    if (refused === this.newestToken()) this.renewals += 1;
    return this.down ? Promise.reject(new TokenUnavailable('down')) : Promise.resolve(this.newestToken());
  }

  override keepFresh(): Promise<void> {
    return Promise.resolve();
  }

  override isValid(): boolean {
    return !this.down;
  }

  override newestToken(): string {
    return `token-${this.renewals + 1}`;
  }
}
