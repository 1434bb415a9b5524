import type { Clock, Timers } from '../../kernel/clock.js';
import { jsonOrNull } from '../../kernel/json-reader.js';
import type { Random } from '../../kernel/ids.js';
import { Opaque, type Secret } from '../../kernel/secret.js';
import { singleFlight, unlessAborted } from '../../kernel/promises.js';
import { AxiosExchange, readRetryAfter } from '../../platform/http/axios-exchange.js';
import type { Log } from '../../platform/log/log.js';
import { isObject } from '../domain/reading.js';
import {
  freshness,
  judgeProvider,
  pauseAfterFailure,
  readTokenAnswer,
  type ServiceToken,
  ServiceTokenSource,
  type TokenFailure,
  type TokenObserver,
  TokenUnavailable,
} from '../domain/service-token.js';

export interface OAuthClient {
  tokenUrl: string;
  /** The provider's certificate authorities in PEM, read again when they change; null: the platform's own. */
  caFile: string | null;
  clientId: string;
  clientSecret: Secret;
  /** Null: the request names no scope, and the provider uses its default. */
  scope: string | null;
}

interface Failure {
  kind: TokenFailure;
  reason: string;
  retryAfter: number | null;
}

/** Milliseconds for one request to the provider, because people's queries wait for it. */
const DEADLINE = 5_000;
const LARGEST_ANSWER = 256 * 1024;
/** The least time in milliseconds between two background checks of the token. */
const SHORTEST_REST = 1_000;

/**
 * Tokens by the client-credentials grant. All callers share one acquisition; the token is renewed in the background while the valid one
 * is handed out; it is kept in memory only.
 */
@Opaque
export class OAuthServiceTokenSource extends ServiceTokenSource {
  private readonly exchange: AxiosExchange;
  private token: ServiceToken | null = null;
  private readonly fetchOnce = singleFlight(() => this.fetch());
  private failures = 0;
  private notBefore = 0;
  private oddity: string | null = null;

  constructor(
    private readonly client: OAuthClient,
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly observer: TokenObserver,
  ) {
    super();
    this.exchange = new AxiosExchange(LARGEST_ANSWER, { caFile: client.caFile });
  }

  override async validToken(refused: string | null = null, signal?: AbortSignal): Promise<string> {
    const { token } = this;
    const state = freshness(token, this.timers.now());
    if (token === null || state === 'expired' || token.value === refused)
      return (await unlessAborted(this.acquire(), signal)).value;
    // A failed renewal is logged where it fails; the present token is still valid.
    if (state === 'renew') this.acquire().catch(() => undefined);
    return token.value;
  }

  override newestToken(): string | null {
    return this.token?.value ?? null;
  }

  override isValid(): boolean {
    return freshness(this.token, this.timers.now()) !== 'expired';
  }

  override async keepFresh(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isFresh = freshness(this.token, this.timers.now()) === 'fresh';
      if (!isFresh) await unlessAborted(this.acquire(), signal).catch(() => undefined);
      await this.timers.wait(this.pauseUntilRenewal(), signal).catch(() => undefined);
    }
  }

  override close(): void {
    this.exchange.close();
  }

  private pauseUntilRenewal(): number {
    const now = this.timers.now();
    const renewAt = this.token?.renewAt ?? 0;
    return Math.max((renewAt > now ? renewAt : this.notBefore) - now, SHORTEST_REST);
  }

  private acquire(): Promise<ServiceToken> {
    if (this.timers.now() < this.notBefore) {
      return Promise.reject(new TokenUnavailable('the identity provider gave none a moment ago'));
    }
    return this.fetchOnce();
  }

  private async fetch(): Promise<ServiceToken> {
    const outcome = await this.askProvider();
    if ('reason' in outcome) {
      this.failures += 1;
      const pause = pauseAfterFailure(outcome.kind, this.failures, outcome.retryAfter, this.random.fraction());
      this.notBefore = this.timers.now() + pause;
      this.observer.onFailure(outcome.kind);
      // This wording is an outside requirement and must stay.
      this.log.error('service-account token is empty', { reason: outcome.reason, client_id: this.client.clientId });
      throw new TokenUnavailable(outcome.reason);
    }
    this.failures = 0;
    this.notBefore = 0;
    this.token = outcome;
    this.observer.onRenewal(this.clock.now().getTime() + outcome.expiresAt - this.timers.now());
    if (outcome.oddity !== null && outcome.oddity !== this.oddity) {
      this.log.warn('service-account token has no usable expires_in', { oddity: outcome.oddity });
    }
    this.oddity = outcome.oddity;
    return outcome;
  }

  private async askProvider(): Promise<ServiceToken | Failure> {
    const askedAt = this.timers.now();
    let reply;
    try {
      reply = await this.exchange.send({
        method: 'POST',
        url: this.client.tokenUrl,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: this.client.clientId,
          client_secret: this.client.clientSecret.reveal(),
          ...(this.client.scope !== null && { scope: this.client.scope }),
        }).toString(),
        timeout: DEADLINE,
      });
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'unknown';
      return { kind: 'unavailable', reason: `the identity provider did not answer: ${cause}`, retryAfter: null };
    }
    const answer = jsonOrNull(reply.body.toString());
    if (reply.status !== 200) {
      const retryAfter = readRetryAfter(reply.headers['retry-after'], this.clock.now());
      return { kind: judgeProvider(reply.status), reason: `status ${reply.status}${errorCode(answer)}`, retryAfter };
    }
    const read = readTokenAnswer(answer, askedAt, this.timers.now());
    return read.kind === 'token' ? read.token : { kind: 'invalid', reason: read.reason, retryAfter: null };
  }
}

/** An error code such as `unauthorized_client` (RFC 6749 section 5.2), never text that the provider wrote. */
function errorCode(answer: unknown): string {
  const code = isObject(answer) ? answer['error'] : undefined;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? `, ${code}` : '';
}
