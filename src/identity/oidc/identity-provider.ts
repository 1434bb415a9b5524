import { type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose';
import {
  allowInsecureRequests,
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  ClientError,
  clockTolerance,
  Configuration,
  customFetch,
  refreshTokenGrant,
  ResponseBodyError,
  type ServerMetadata,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import type { Clock, Timers } from '../../kernel/clock.js';
import { Opaque } from '../../kernel/secret.js';
import type { HealthRegistry } from '../../platform/operations/health.js';
import type { Settings } from '../../platform/settings/settings.js';
import type { Claims, ExchangeFailure } from './domain/claims.js';
import { type Failed, failure, type FlowSecrets } from './domain/flow.js';
import { LastGoodDocument } from './infrastructure/last-good.js';
import { ProviderTransport, ProviderUnavailable } from './infrastructure/provider-transport.js';

/** Verified claims of a sign-in, or why the provider's answer was refused. */
export type SignInAnswer = { kind: 'vouched'; claims: Claims; idToken: string; refreshToken: string | null } | Failed;

/**
 * Whether a session at the provider goes on. `renewed`: it does; `claims` are a new ID token's, if there is one. `silent`: the provider
 * gave no usable answer. `refreshToken`: the next token; null: the former one stays valid.
 */
export type Renewal =
  | { kind: 'renewed'; claims: Claims | null; refreshToken: string | null }
  | { kind: 'ended' }
  | { kind: 'silent'; reason: string; refreshToken: string | null };

/** Whether a token is a recent one of the provider. `type`: the header's `typ`. */
type Verified = { kind: 'verified'; claims: Claims; type: unknown } | Failed<ExchangeFailure>;

const MINUTE = 60_000;
/** Lifetimes in milliseconds. The last good discovery document is used until there is a newer one. */
const DISCOVERY = { fresh: 60 * MINUTE, stale: Infinity, pause: 10_000 };
const KEYS = { fresh: 10 * MINUTE, stale: 24 * 60 * MINUTE, pause: 10_000 };

/** Clock tolerance in seconds that disables openid-client's checks, which use the machine's clock. `verify` uses the service's clock. */
const ANY_TIME = 3_000_000_000;

/** Signature algorithms with a private key, which only the provider has. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/**
 * In seconds. Tokens must be at most ten minutes old (Microsoft Entra dates its tokens five minutes back), and clocks may differ by
 * one minute. Without maxTokenAge a token issued next year would pass.
 */
const TIMES = { maxTokenAge: 600, clockTolerance: 60, requiredClaims: ['iat', 'exp'] };

type KeySet = ReturnType<typeof createLocalJWKSet>;

const CALLBACK_PATH = '/api/auth/oidc/callback';

/** The company's identity provider, by OpenID Connect Core's authorization code flow with PKCE. */
@Opaque
export class IdentityProvider implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly transport: ProviderTransport;
  private readonly discovery: LastGoodDocument<Configuration>;
  private readonly keys: LastGoodDocument<KeySet>;
  private readonly redirectUri: string;
  private readonly stopping = new AbortController();
  private watching: Promise<void> = Promise.resolve();

  constructor(
    private readonly settings: NonNullable<Settings['oidc']>,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly health: HealthRegistry,
  ) {
    this.transport = new ProviderTransport(settings.caFile);
    this.discovery = new LastGoodDocument(() => this.discover(), DISCOVERY, timers);
    this.keys = new LastGoodDocument(() => this.keySet(), KEYS, timers);
    this.redirectUri = settings.publicUrl + CALLBACK_PATH;
  }

  /**
   * Requests the discovery document at the start and every minute, for the health check. The service neither waits for it nor needs it
   * to be ready, because passwords and sessions work without the provider.
   */
  onApplicationBootstrap(): void {
    this.health.register('sign_in_provider', () =>
      Promise.resolve(this.transport.isReachable === false ? 'degraded' : 'up'),
    );
    const probe = async (): Promise<void> => {
      await this.discovery.renew().catch(() => undefined);
    };
    this.watching = probe().then(() => this.timers.repeat(MINUTE, this.stopping.signal, probe));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    this.transport.close(); // ends a request under way
    await this.watching;
  }

  /** The provider's sign-in address; null: the provider is unavailable. @param isAnew asks people to sign in again if they are signed in */
  async authorizationUrl(state: string, { nonce, verifier }: FlowSecrets, isAnew: boolean): Promise<string | null> {
    const configuration = await this.configuration();
    if (configuration === null) return null;
    return buildAuthorizationUrl(configuration, {
      redirect_uri: this.redirectUri,
      scope: this.settings.scopes.join(' '),
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(isAnew && { max_age: '0' }),
    }).href;
  }

  /** Exchanges the code in the provider's answer. @param answer the query parameters of the callback */
  async redeem(answer: URLSearchParams, state: string, { nonce, verifier }: FlowSecrets): Promise<SignInAnswer> {
    try {
      const configuration = await this.discovery.get();
      if (!this.isFromIssuer(answer, configuration)) return failure('wrong_issuer', 'iss');
      // Built from the settings, never from the Host header, because the provider compares it with the registered address.
      const address = new URL(`${this.redirectUri}?${answer.toString()}`);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const { id_token = '', refresh_token = null } = await authorizationCodeGrant(configuration, address, checks);
      // openid-client trusts the connection and does not check the signature.
      const verified = await this.verify(id_token, this.settings.clientId, { isOfProvider: true });
      if (verified.kind === 'verified')
        return { kind: 'vouched', claims: verified.claims, idToken: id_token, refreshToken: refresh_token };
      const isUntimely = verified.code === 'token_expired' || verified.code === 'clocks_differ';
      return failure(isUntimely ? 'clocks_differ' : 'answer_invalid', verified.reason);
    } catch (error) {
      return failureOf(error);
    }
  }

  /** Asks whether a session at the provider goes on (RFC 6749 section 6). */
  async renew(refreshToken: string): Promise<Renewal> {
    let next: string | null = null;
    try {
      const answer = await refreshTokenGrant(await this.discovery.get(), refreshToken);
      next = answer.refresh_token ?? null;
      if (answer.id_token === undefined) return { kind: 'renewed', claims: null, refreshToken: next };
      const verified = await this.verify(answer.id_token, this.settings.clientId, { isOfProvider: true });
      if (verified.kind === 'verified') return { kind: 'renewed', claims: verified.claims, refreshToken: next };
      return { kind: 'silent', reason: verified.reason, refreshToken: next };
    } catch (error) {
      if (error instanceof ResponseBodyError && error.error === 'invalid_grant') return { kind: 'ended' };
      return { kind: 'silent', reason: failureOf(error).reason, refreshToken: next };
    }
  }

  /** Verifies a presented token; the caller must judge its claims. @param typ the required `typ` of its header; null: any */
  async verifyPresented(token: string, audience: string, typ: string | null): Promise<Verified> {
    try {
      return await this.verify(token, audience, { ...(typ !== null && { typ }), isOfProvider: false });
    } catch (error) {
      if (error instanceof ProviderUnavailable) return failure('provider_unavailable', 'keys');
      throw error;
    }
  }

  /** The address that signs the owner of an ID token out at the provider; null: there is none, or the provider is unavailable. */
  async signOutUrl(idToken: string): Promise<string | null> {
    const configuration = await this.configuration();
    const endpoint = configuration?.serverMetadata().end_session_endpoint;
    if (configuration === null || !isEndpoint(endpoint, this.isInsecure)) return null;
    return buildEndSessionUrl(configuration, { id_token_hint: idToken }).href;
  }

  /**
   * Verifies signature, issuer, audience and times of a token.
   * @param terms `typ`: the required header `typ`; `isOfProvider`: the token came directly from the provider
   * @throws ProviderUnavailable if no keys are known
   */
  private async verify(
    token: string,
    audience: string,
    { typ, isOfProvider }: { typ?: string; isOfProvider: boolean },
  ): Promise<Verified> {
    const verify = async (keys: KeySet): Promise<Verified> => {
      const expected = {
        algorithms: ALGORITHMS,
        issuer: this.settings.issuer,
        audience,
        currentDate: this.clock.now(),
      };
      const form = typ === undefined ? {} : { typ };
      const { payload, protectedHeader } = await jwtVerify(token, keys, { ...expected, ...TIMES, ...form });
      return { kind: 'verified', claims: payload, type: protectedHeader.typ };
    };
    const known = await this.keys.get();
    try {
      return await verify(known).catch(async (error: unknown) => {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        // A token directly from the provider with an unknown key was signed with a new one, so wait some seconds to fetch it.
        return verify(await (isOfProvider ? this.keys.fetchNewer() : this.keys.renew()));
      });
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error;
      return refusalOf(error);
    }
  }

  /** Whether an answer comes from this provider (RFC 9207): a code of another one must not be sent to this one. */
  private isFromIssuer(answer: URLSearchParams, configuration: Configuration): boolean {
    const named = answer.getAll('iss');
    const isPromised = configuration.serverMetadata().authorization_response_iss_parameter_supported === true;
    return named.every((issuer) => issuer === this.settings.issuer) && (named.length === 1 || !isPromised);
  }

  /** Whether the provider uses http, which the settings allow only on loopback outside production. */
  private get isInsecure(): boolean {
    return new URL(this.settings.discoveryUrl).protocol === 'http:';
  }

  /** The discovered configuration; null: the provider is unavailable. */
  private async configuration(): Promise<Configuration | null> {
    return this.discovery.get().catch((error: unknown) => {
      if (error instanceof ProviderUnavailable) return null;
      throw error;
    });
  }

  private async discover(): Promise<Configuration> {
    const { discoveryUrl, issuer, clientId, clientSecret } = this.settings;
    const document = await this.transport.getDocument(discoveryUrl);
    if (document['issuer'] !== issuer) throw this.transport.unusableAnswer('another issuer in the discovery document');
    if (
      !['authorization_endpoint', 'token_endpoint', 'jwks_uri'].every((name) =>
        isEndpoint(document[name], this.isInsecure),
      )
    ) {
      throw this.transport.unusableAnswer('an incomplete discovery document');
    }
    const configuration = new Configuration(document as unknown as ServerMetadata, clientId, {
      client_secret: clientSecret.reveal(),
      [clockTolerance]: ANY_TIME,
    });
    configuration[customFetch] = this.transport.fetch;
    // oxlint-disable-next-line typescript/no-deprecated -- deprecated only to make it stand out
    if (this.isInsecure) allowInsecureRequests(configuration);
    return configuration;
  }

  private async keySet(): Promise<KeySet> {
    const { jwks_uri } = (await this.discovery.get()).serverMetadata();
    const document = await this.transport.getDocument(jwks_uri ?? '');
    try {
      return createLocalJWKSet(document as unknown as JSONWebKeySet); // throws unless it is a key set
    } catch {
      throw this.transport.unusableAnswer('no key set');
    }
  }
}

function isEndpoint(url: unknown, isInsecure: boolean): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false;
  const { protocol } = new URL(url);
  return protocol === 'https:' || (isInsecure && protocol === 'http:');
}

function refusalOf(error: unknown): Failed<ExchangeFailure> {
  // Other errors come from a key of the provider that cannot be imported or is too short.
  if (!(error instanceof errors.JOSEError)) return failure('token_invalid', 'unusable key');
  // It has expired, or is older than ten minutes.
  if (error instanceof errors.JWTExpired) return failure('token_expired', `${error.code} ${error.claim}`);
  if (!(error instanceof errors.JWTClaimValidationFailed)) return failure('token_invalid', error.code);
  const isFuture = error.reason === 'check_failed' && ['iat', 'nbf'].includes(error.claim);
  const code = isFuture ? 'clocks_differ' : error.claim === 'aud' ? 'token_wrong_audience' : 'token_invalid';
  return failure(code, `${error.code} ${error.claim}`);
}

/** The failure of an error. Its reason is text of a library or a code of RFC 6749, never text that the provider wrote. */
function failureOf(error: unknown): Failed {
  if (error instanceof AuthorizationResponseError) {
    const isCancelled = error.error === 'access_denied';
    return failure(isCancelled ? 'sign_in_cancelled' : 'provider_refused', plain(error.error));
  }
  if (error instanceof ResponseBodyError) return failure('provider_refused', plain(error.error));
  if (error instanceof WWWAuthenticateChallengeError) return failure('provider_refused', 'challenge');
  const unavailable = causeOf(error);
  if (unavailable !== null) return failure('provider_unavailable', unavailable.message);
  if (error instanceof ClientError) return failure('answer_invalid', error.code ?? 'unknown');
  throw error;
}

function plain(code: string): string {
  return /^\w{1,64}$/.test(code) ? code : 'unknown';
}

function causeOf(error: unknown): ProviderUnavailable | null {
  if (error instanceof ProviderUnavailable) return error;
  return error instanceof Error && error.cause !== undefined ? causeOf(error.cause) : null;
}
