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
import { Refused } from '../../kernel/errors.js';
import { Opaque } from '../../kernel/secret.js';
import type { HealthRegistry } from '../../platform/operations/health.js';
import type { Settings } from '../../platform/settings/settings.js';
import type { Claims, ExchangeFailure } from './domain/claims.js';
import { type Failure, failure, type FlowSecrets } from './domain/flow.js';
import { LastGoodDocument } from './infrastructure/last-good.js';
import { ProviderTransport, ProviderUnavailable } from './infrastructure/provider-transport.js';

/** The verified claims and tokens of a sign-in, or why the provider's answer was refused. */
export type SignInAnswer = { kind: 'verified'; claims: Claims; idToken: string; refreshToken: string | null } | Failure;

/**
 * The provider's answer to a refresh token. `renewed`: the session goes on; `claims` are those of a new ID token, if there is one. `ended`:
 * the token was refused. `silent`: no usable answer. `refreshToken`: the next token; null: the former one stays valid.
 */
export type Renewal =
  | { kind: 'renewed'; claims: Claims | null; refreshToken: string | null }
  | { kind: 'ended' }
  | { kind: 'silent'; reason: string; refreshToken: string | null };

/** The claims of a token that the provider signed recently, or why the token was refused. `type`: the header's `typ`. */
type VerifiedToken = { kind: 'verified'; claims: Claims; type: unknown } | Failure<ExchangeFailure>;

const MINUTE_MS = 60_000;
/** Lifetimes of cached documents. While the discovery document cannot be fetched, the last good one is used without a limit. */
const DISCOVERY_LIFETIME = { freshMs: 60 * MINUTE_MS, staleMs: Infinity, pauseMs: 10_000 };
const KEYS_LIFETIME = { freshMs: 10 * MINUTE_MS, staleMs: 24 * 60 * MINUTE_MS, pauseMs: 10_000 };

/** Clock tolerance in seconds that disables the time checks of openid-client. They use the machine's clock; `verify` uses the service's clock. */
const UNLIMITED_TOLERANCE = 3_000_000_000;

/** Accepted signature algorithms: only those with a private key, because only the provider has the key. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/**
 * Checks of a token's times, in seconds. Tokens must be at most ten minutes old (Microsoft Entra dates its tokens five minutes back), and clocks may differ by
 * one minute. Without maxTokenAge jose would accept a token whose `iat` is in the future.
 */
const TIME_CHECKS = { maxTokenAge: 600, clockTolerance: 60, requiredClaims: ['iat', 'exp'] };

type KeySet = ReturnType<typeof createLocalJWKSet>;

const CALLBACK_PATH = '/api/auth/oidc/callback';

/** The settings of the identity provider. @throws Refused `not_found` if none is configured */
export function requireOidc({ oidc }: Settings): NonNullable<Settings['oidc']> {
  if (oidc === null) throw new Refused('not_found');
  return oidc;
}

/** The company's identity provider, by OpenID Connect Core's authorization code flow with PKCE. */
@Opaque
export class IdentityProvider implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly transport: ProviderTransport;
  private readonly discoveryDocument: LastGoodDocument<Configuration>;
  private readonly keysDocument: LastGoodDocument<KeySet>;
  private readonly redirectUri: string;
  private readonly shutdownController = new AbortController();
  private discoveryLoop: Promise<void> = Promise.resolve();

  constructor(
    private readonly settings: NonNullable<Settings['oidc']>,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly health: HealthRegistry,
  ) {
    this.transport = new ProviderTransport(settings.caFile);
    this.discoveryDocument = new LastGoodDocument(() => this.discover(), DISCOVERY_LIFETIME, timers);
    this.keysDocument = new LastGoodDocument(() => this.keySet(), KEYS_LIFETIME, timers);
    this.redirectUri = settings.publicUrl + CALLBACK_PATH;
  }

  /**
   * Requests the discovery document at the start and every minute, for the health check. The service is ready even without the document,
   * because passwords and sessions work without the provider.
   */
  onApplicationBootstrap(): void {
    this.health.register('sign_in_provider', () =>
      Promise.resolve(this.transport.isReachable === false ? 'degraded' : 'up'),
    );
    const probe = async (): Promise<void> => {
      await this.discoveryDocument.renew().catch(() => undefined);
    };
    this.discoveryLoop = probe().then(() => this.timers.repeat(MINUTE_MS, this.shutdownController.signal, probe));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.shutdownController.abort();
    this.transport.close(); // ends a request under way
    await this.discoveryLoop;
  }

  /** The provider's sign-in address; null: the provider is unavailable. @param isForced the provider asks even people who are signed in there */
  async authorizationUrl(state: string, { nonce, verifier }: FlowSecrets, isForced: boolean): Promise<string | null> {
    const configuration = await this.configuration();
    if (configuration === null) return null;
    return buildAuthorizationUrl(configuration, {
      redirect_uri: this.redirectUri,
      scope: this.settings.scopes.join(' '),
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(isForced && { max_age: '0' }),
    }).href;
  }

  /** Exchanges the code in the provider's answer. @param answer the query parameters of the callback */
  async redeem(answer: URLSearchParams, state: string, { nonce, verifier }: FlowSecrets): Promise<SignInAnswer> {
    try {
      const configuration = await this.discoveryDocument.get();
      if (!this.isFromIssuer(answer, configuration)) return failure('wrong_issuer', 'iss');
      // The address is built from the settings and not from the Host header, because the provider compares it with the registered address.
      const address = new URL(`${this.redirectUri}?${answer.toString()}`);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const { id_token = '', refresh_token = null } = await authorizationCodeGrant(configuration, address, checks);
      // The ID token's signature is verified here, because openid-client trusts the connection and does not check it.
      const verification = await this.verify(id_token, this.settings.clientId, { isFromProvider: true });
      if (verification.kind === 'verified')
        return { kind: 'verified', claims: verification.claims, idToken: id_token, refreshToken: refresh_token };
      const isTimeFault = verification.code === 'token_expired' || verification.code === 'clocks_differ';
      return failure(isTimeFault ? 'clocks_differ' : 'answer_invalid', verification.reason);
    } catch (error) {
      return failureOf(error);
    }
  }

  /** Asks the provider by a refresh token whether a session goes on (RFC 6749 section 6). */
  async renew(refreshToken: string): Promise<Renewal> {
    let nextToken: string | null = null;
    try {
      const answer = await refreshTokenGrant(await this.discoveryDocument.get(), refreshToken);
      nextToken = answer.refresh_token ?? null;
      if (answer.id_token === undefined) return { kind: 'renewed', claims: null, refreshToken: nextToken };
      const verification = await this.verify(answer.id_token, this.settings.clientId, { isFromProvider: true });
      if (verification.kind === 'verified')
        return { kind: 'renewed', claims: verification.claims, refreshToken: nextToken };
      return { kind: 'silent', reason: verification.reason, refreshToken: nextToken };
    } catch (error) {
      if (error instanceof ResponseBodyError && error.error === 'invalid_grant') return { kind: 'ended' };
      return { kind: 'silent', reason: failureOf(error).reason, refreshToken: nextToken };
    }
  }

  /** Verifies a presented token; the caller must judge its claims. @param typ the required `typ` of the token's header; null: any `typ` */
  async verifyPresented(token: string, audience: string, typ: string | null): Promise<VerifiedToken> {
    try {
      return await this.verify(token, audience, { ...(typ !== null && { typ }), isFromProvider: false });
    } catch (error) {
      if (error instanceof ProviderUnavailable) return failure('provider_unavailable', 'keys');
      throw error;
    }
  }

  /** The address that signs the owner of an ID token out at the provider. Null: the provider has no such address, or is unavailable. */
  async signOutUrl(idToken: string): Promise<string | null> {
    const configuration = await this.configuration();
    const endpoint = configuration?.serverMetadata().end_session_endpoint;
    if (configuration === null || !isEndpoint(endpoint, this.isInsecure)) return null;
    return buildEndSessionUrl(configuration, { id_token_hint: idToken }).href;
  }

  /**
   * Verifies signature, issuer, audience and times of a token.
   * @param typ the required `typ` of the header; absent: any @param isFromProvider whether the token came directly from the provider
   * @throws ProviderUnavailable if no keys are known
   */
  private async verify(
    token: string,
    audience: string,
    { typ, isFromProvider }: { typ?: string; isFromProvider: boolean },
  ): Promise<VerifiedToken> {
    const verifyWith = async (keys: KeySet): Promise<VerifiedToken> => {
      const checks = { algorithms: ALGORITHMS, issuer: this.settings.issuer, audience, currentDate: this.clock.now() };
      const typOption = typ === undefined ? {} : { typ };
      const { payload, protectedHeader } = await jwtVerify(token, keys, { ...checks, ...TIME_CHECKS, ...typOption });
      return { kind: 'verified', claims: payload, type: protectedHeader.typ };
    };
    const cachedKeys = await this.keysDocument.get();
    try {
      return await verifyWith(cachedKeys).catch(async (error: unknown) => {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        // No cached key matches. `fetchNewer` may wait some seconds, so it is not used for tokens that may be forged.
        return verifyWith(await (isFromProvider ? this.keysDocument.fetchNewer() : this.keysDocument.renew()));
      });
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error;
      return verificationFailure(error);
    }
  }

  /** Whether an answer comes from the configured provider (RFC 9207), so that another provider's code is never sent to the configured one. */
  private isFromIssuer(answer: URLSearchParams, configuration: Configuration): boolean {
    const issuers = answer.getAll('iss');
    const isIssuerRequired = configuration.serverMetadata().authorization_response_iss_parameter_supported === true;
    return issuers.every((issuer) => issuer === this.settings.issuer) && (issuers.length === 1 || !isIssuerRequired);
  }

  /** Whether the provider uses http, which the settings allow only on loopback outside production. */
  private get isInsecure(): boolean {
    return new URL(this.settings.discoveryUrl).protocol === 'http:';
  }

  /** The discovered configuration; null: the provider is unavailable. */
  private async configuration(): Promise<Configuration | null> {
    return this.discoveryDocument.get().catch((error: unknown) => {
      if (error instanceof ProviderUnavailable) return null;
      throw error;
    });
  }

  private async discover(): Promise<Configuration> {
    const { discoveryUrl, issuer, clientId, clientSecret } = this.settings;
    const document = await this.transport.getDocument(discoveryUrl);
    if (document['issuer'] !== issuer) throw this.transport.badAnswerError('another issuer in the discovery document');
    if (
      !['authorization_endpoint', 'token_endpoint', 'jwks_uri'].every((name) =>
        isEndpoint(document[name], this.isInsecure),
      )
    ) {
      throw this.transport.badAnswerError('an incomplete discovery document');
    }
    const configuration = new Configuration(document as unknown as ServerMetadata, clientId, {
      client_secret: clientSecret.reveal(),
      [clockTolerance]: UNLIMITED_TOLERANCE,
    });
    configuration[customFetch] = this.transport.fetch;
    // oxlint-disable-next-line typescript/no-deprecated -- the library marks it deprecated only as a warning
    if (this.isInsecure) allowInsecureRequests(configuration);
    return configuration;
  }

  private async keySet(): Promise<KeySet> {
    const { jwks_uri } = (await this.discoveryDocument.get()).serverMetadata();
    const document = await this.transport.getDocument(jwks_uri ?? '');
    try {
      return createLocalJWKSet(document as unknown as JSONWebKeySet); // throws unless it is a key set
    } catch {
      throw this.transport.badAnswerError('no key set');
    }
  }
}

function isEndpoint(url: unknown, isInsecure: boolean): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false;
  const { protocol } = new URL(url);
  return protocol === 'https:' || (isInsecure && protocol === 'http:');
}

function verificationFailure(error: unknown): Failure<ExchangeFailure> {
  // Errors of other classes mean that a key of the provider cannot be imported or is too short.
  if (!(error instanceof errors.JOSEError)) return failure('token_invalid', 'unusable key');
  // jose also reports a token that is older than `maxTokenAge` as expired.
  if (error instanceof errors.JWTExpired) return failure('token_expired', `${error.code} ${error.claim}`);
  if (!(error instanceof errors.JWTClaimValidationFailed)) return failure('token_invalid', error.code);
  const isFuture = error.reason === 'check_failed' && ['iat', 'nbf'].includes(error.claim);
  const code = isFuture ? 'clocks_differ' : error.claim === 'aud' ? 'token_wrong_audience' : 'token_invalid';
  return failure(code, `${error.code} ${error.claim}`);
}

/** The failure for an error. The reason is text of a library or a code of RFC 6749, never text that the provider wrote. */
function failureOf(error: unknown): Failure {
  if (error instanceof AuthorizationResponseError) {
    const isCancelled = error.error === 'access_denied';
    return failure(isCancelled ? 'sign_in_cancelled' : 'provider_refused', safeCode(error.error));
  }
  if (error instanceof ResponseBodyError) return failure('provider_refused', safeCode(error.error));
  if (error instanceof WWWAuthenticateChallengeError) return failure('provider_refused', 'challenge');
  const unavailability = unavailabilityCause(error);
  if (unavailability !== null) return failure('provider_unavailable', unavailability.message);
  if (error instanceof ClientError) return failure('answer_invalid', error.code ?? 'unknown');
  throw error;
}

function safeCode(code: string): string {
  return /^\w{1,64}$/.test(code) ? code : 'unknown';
}

function unavailabilityCause(error: unknown): ProviderUnavailable | null {
  if (error instanceof ProviderUnavailable) return error;
  return error instanceof Error && error.cause !== undefined ? unavailabilityCause(error.cause) : null;
}
