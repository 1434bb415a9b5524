import type { Clock, Timers } from '../../kernel/clock.js';
import { isObject, jsonOrNull } from '../../kernel/json-reader.js';
import type { Random } from '../../kernel/ids.js';
import { Opaque, type Secret } from '../../kernel/secret.js';
import { singleFlight, unlessAborted } from '../../kernel/promises.js';
import { AxiosExchange, readRetryAfter } from '../../platform/http/axios-exchange.js';
import type { Log } from '../../platform/log/log.js';
import {
  freshnessOf,
  failureOfStatus,
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
  /** Path of a PEM file with the provider's certificate authorities, read again when it changes; null: the platform's authorities. */
  caFile: string | null;
  clientId: string;
  clientSecret: Secret;
  /** Null: the request names no scope, and the provider uses its default. */
  scope: string | null;
}

interface ProviderFailure {
  kind: TokenFailure;
  reason: string;
  retryAfter: number | null;
}

/** Milliseconds for one request to the provider. Short, because people's queries wait for the token. */
const REQUEST_TIMEOUT = 5_000;
const MAX_ANSWER_BYTES = 256 * 1024;
/** The least time in milliseconds between two background checks of the token. */
const MIN_PAUSE = 1_000;

/**
 * Gets tokens by OAuth's client-credentials grant. All callers share one request for a token. A token is renewed in the background
 * while it is still valid and handed out. Tokens are kept in memory only.
 */
@Opaque
export class OAuthServiceTokenSource extends ServiceTokenSource {
  private readonly exchange: AxiosExchange;
  private token: ServiceToken | null = null;
  private readonly fetchTokenOnce = singleFlight(() => this.fetchToken());
  private failureCount = 0;
  private nextAttemptAt = 0;
  private lastTokenRemark: string | null = null;

  constructor(
    private readonly client: OAuthClient,
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly observer: TokenObserver,
  ) {
    super();
    this.exchange = new AxiosExchange(MAX_ANSWER_BYTES, { caFile: client.caFile });
  }

  override async validToken(refusedToken: string | null = null, signal?: AbortSignal): Promise<string> {
    const { token } = this;
    const freshness = freshnessOf(token, this.timers.now());
    if (token === null || freshness === 'expired' || token.value === refusedToken)
      return (await unlessAborted(this.acquireToken(), signal)).value;
    // `acquireToken` has logged the failure of the renewal. The present token is still valid.
    if (freshness === 'renew') this.acquireToken().catch(() => undefined);
    return token.value;
  }

  override newestToken(): string | null {
    return this.token?.value ?? null;
  }

  override isValid(): boolean {
    return freshnessOf(this.token, this.timers.now()) !== 'expired';
  }

  override async keepFresh(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isFresh = freshnessOf(this.token, this.timers.now()) === 'fresh';
      if (!isFresh) await unlessAborted(this.acquireToken(), signal).catch(() => undefined);
      await this.timers.wait(this.pauseUntilRenewal(), signal).catch(() => undefined);
    }
  }

  override close(): void {
    this.exchange.close();
  }

  private pauseUntilRenewal(): number {
    const now = this.timers.now();
    const renewAt = this.token?.renewAt ?? 0;
    return Math.max((renewAt > now ? renewAt : this.nextAttemptAt) - now, MIN_PAUSE);
  }

  private acquireToken(): Promise<ServiceToken> {
    if (this.timers.now() < this.nextAttemptAt) {
      return Promise.reject(new TokenUnavailable('the identity provider gave none a moment ago'));
    }
    return this.fetchTokenOnce();
  }

  private async fetchToken(): Promise<ServiceToken> {
    const outcome = await this.askProvider();
    if ('reason' in outcome) {
      this.failureCount += 1;
      const pause = pauseAfterFailure(outcome.kind, this.failureCount, outcome.retryAfter, this.random.fraction());
      this.nextAttemptAt = this.timers.now() + pause;
      this.observer.onFailure(outcome.kind);
      // This wording is an outside requirement and must stay.
      this.log.error('service-account token is empty', { reason: outcome.reason, client_id: this.client.clientId });
      throw new TokenUnavailable(outcome.reason);
    }
    this.failureCount = 0;
    this.nextAttemptAt = 0;
    this.token = outcome;
    this.observer.onRenewal(this.clock.now().getTime() + outcome.expiresAt - this.timers.now());
    if (outcome.remark !== null && outcome.remark !== this.lastTokenRemark) {
      this.log.warn('service-account token has no usable expires_in', { remark: outcome.remark });
    }
    this.lastTokenRemark = outcome.remark;
    return outcome;
  }

  private async askProvider(): Promise<ServiceToken | ProviderFailure> {
    const requestedAt = this.timers.now();
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
        timeout: REQUEST_TIMEOUT,
      });
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'unknown';
      return { kind: 'unavailable', reason: `the identity provider did not answer: ${cause}`, retryAfter: null };
    }
    const answer = jsonOrNull(reply.body.toString());
    if (reply.status !== 200) {
      const retryAfter = readRetryAfter(reply.headers['retry-after'], this.clock.now());
      return { kind: failureOfStatus(reply.status), reason: `status ${reply.status}${errorCode(answer)}`, retryAfter };
    }
    const result = readTokenAnswer(answer, requestedAt, this.timers.now());
    return result.kind === 'token' ? result.token : { kind: 'invalid', reason: result.reason, retryAfter: null };
  }
}

/** The error code of an answer, such as `unauthorized_client` (RFC 6749 section 5.2). Other text of the provider is never logged. */
function errorCode(answer: unknown): string {
  const code = isObject(answer) ? answer['error'] : undefined;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? `, ${code}` : '';
}
