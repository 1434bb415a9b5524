import { ServiceTokenSource } from '../domain/service-token-source.js';

/** SERVICE_QUERY_JWT_ENABLED=false: requests carry no Bearer header. */
export class NoServiceTokenSource extends ServiceTokenSource {
  override current(): Promise<null> {
    return Promise.resolve(null);
  }

  override replacing(): Promise<null> {
    return Promise.resolve(null);
  }

  override last(): null {
    return null;
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
}
