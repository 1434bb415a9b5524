import { ServiceTokenSource, TokenUnavailable } from '../../../src/query-engine/domain/service-token.js';

/** Tokens `token-1`, `token-2`, …, a new one for each refusal. */
export class FakeServiceTokenSource extends ServiceTokenSource {
  /** While true, the provider is down and the token at hand has expired. */
  down = false;
  renewals = 0;

  override current(refused: string | null = null): Promise<string> {
    if (refused === this.last()) this.renewals += 1;
    return this.down ? Promise.reject(new TokenUnavailable('down')) : Promise.resolve(this.last());
  }

  override keepFresh(): Promise<void> {
    return Promise.resolve();
  }

  override isValid(): boolean {
    return !this.down;
  }

  override last(): string {
    return `token-${this.renewals + 1}`;
  }
}
