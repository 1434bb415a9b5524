import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
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
import type { Clock, Timers } from '../../../kernel/clock.js';
import { Opaque } from '../../../kernel/secret.js';
import type { Settings } from '../../../platform/settings.js';
import {
  type FlowSecrets,
  IdentityProvider,
  type Renewal,
  type Vouched,
  type VouchedToken,
} from '../domain/identity-provider.js';
import type { SignInFailure } from '../domain/sign-in-failure.js';
import { LastGood } from './last-good.js';
import { type KeySet, ProviderTokens } from './provider-tokens.js';
import { ProviderTransport, ProviderUnavailable } from './provider-transport.js';

const HOUR = 3_600_000;
/** In milliseconds; the last good document serves for as long as there is no other. */
const DISCOVERY = { fresh: HOUR, stale: Infinity, pause: 10_000 };

/** Seconds. The library judges times by this machine's clock, and late: ProviderTokens judges them by the one that is handed in. */
const ANY_TIME = 3_000_000_000;

/** The path of the route that people are sent back to. */
export const CALLBACK_PATH = '/api/auth/oidc/callback';

/** OpenID Connect Core's authorization code flow with PKCE, and nothing asked for before it is needed. */
@Opaque
export class OpenidProvider extends IdentityProvider {
  private readonly transport: ProviderTransport;
  private readonly discovery: LastGood<Configuration>;
  private readonly tokens: ProviderTokens;
  private readonly redirectUri: string;

  constructor(
    private readonly settings: NonNullable<Settings['oidc']>,
    timers: Timers,
    clock: Clock,
  ) {
    super();
    this.transport = new ProviderTransport(settings.caFile);
    this.discovery = new LastGood(() => this.discover(), DISCOVERY, timers);
    this.tokens = new ProviderTokens(settings.issuer, () => this.keySet(), timers, clock);
    this.redirectUri = settings.publicUrl + CALLBACK_PATH;
  }

  override async authorizationUrl(
    state: string,
    { nonce, verifier }: FlowSecrets,
    isAnew: boolean,
  ): Promise<string | null> {
    const configuration = await this.known();
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

  override async redeem(answer: URLSearchParams, state: string, { nonce, verifier }: FlowSecrets): Promise<Vouched> {
    try {
      const configuration = await this.discovery.get();
      if (!this.isOfIssuer(answer, configuration)) return failed('wrong_issuer', 'iss');
      // From the settings, never from the Host header: the provider compares it.
      const address = new URL(`${this.redirectUri}?${answer.toString()}`);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const { id_token = '', refresh_token = null } = await authorizationCodeGrant(configuration, address, checks);
      // The library trusts the connection, and looks at no signature.
      const verified = await this.tokens.verify(id_token, this.settings.clientId, { isOfProvider: true });
      if (verified.kind === 'verified')
        return { kind: 'vouched', claims: verified.claims, idToken: id_token, refreshToken: refresh_token };
      const isUntimely = verified.fault === 'past' || verified.fault === 'future';
      return failed(isUntimely ? 'clocks_differ' : 'answer_invalid', verified.reason);
    } catch (error) {
      return failureOf(error);
    }
  }

  override async renew(refreshToken: string): Promise<Renewal> {
    let next: string | null = null;
    try {
      const answer = await refreshTokenGrant(await this.discovery.get(), refreshToken);
      next = answer.refresh_token ?? null;
      if (answer.id_token === undefined) return { kind: 'renewed', claims: null, refreshToken: next };
      const verified = await this.tokens.verify(answer.id_token, this.settings.clientId, { isOfProvider: true });
      if (verified.kind === 'verified') return { kind: 'renewed', claims: verified.claims, refreshToken: next };
      return { kind: 'silent', reason: verified.reason, refreshToken: next };
    } catch (error) {
      if (error instanceof ResponseBodyError && error.error === 'invalid_grant') return { kind: 'ended' };
      return { kind: 'silent', reason: failureOf(error).reason, refreshToken: next };
    }
  }

  override async judge(token: string, audience: string, typ: string | null): Promise<VouchedToken> {
    try {
      const terms = { ...(typ !== null && { typ }), isOfProvider: false };
      const verified = await this.tokens.verify(token, audience, terms);
      if (verified.kind === 'refused') return verified;
      return { kind: 'vouched', claims: verified.claims, type: verified.header.typ };
    } catch (error) {
      if (error instanceof ProviderUnavailable) return { kind: 'unavailable' };
      throw error;
    }
  }

  override async signOutUrl(idToken: string): Promise<string | null> {
    const configuration = await this.known();
    const endpoint = configuration?.serverMetadata().end_session_endpoint;
    if (configuration === null || !isEndpoint(endpoint, this.isInsecure)) return null;
    return buildEndSessionUrl(configuration, { id_token_hint: idToken }).href;
  }

  override isReachable(): boolean | null {
    return this.transport.isReachable();
  }

  override async probe(): Promise<void> {
    await this.discovery.renewed().catch(() => undefined);
  }

  override close(): void {
    this.transport.close();
  }

  /** RFC 9207: an answer of another provider must not be redeemed at this one. */
  private isOfIssuer(answer: URLSearchParams, configuration: Configuration): boolean {
    const named = answer.getAll('iss');
    const isPromised = configuration.serverMetadata().authorization_response_iss_parameter_supported === true;
    return named.every((issuer) => issuer === this.settings.issuer) && (named.length === 1 || !isPromised);
  }

  /** http is for loopback, outside production: the settings refuse it elsewhere. */
  private get isInsecure(): boolean {
    return new URL(this.settings.discoveryUrl).protocol === 'http:';
  }

  /** Null: the provider does not say. */
  private async known(): Promise<Configuration | null> {
    return this.discovery.get().catch((error: unknown) => {
      if (error instanceof ProviderUnavailable) return null;
      throw error;
    });
  }

  private async discover(): Promise<Configuration> {
    const { discoveryUrl, issuer, clientId, clientSecret } = this.settings;
    const document = await this.transport.document(discoveryUrl);
    if (document['issuer'] !== issuer) throw this.transport.unusable('another issuer in the discovery document');
    if (
      !['authorization_endpoint', 'token_endpoint', 'jwks_uri'].every((name) =>
        isEndpoint(document[name], this.isInsecure),
      )
    ) {
      throw this.transport.unusable('an incomplete discovery document');
    }
    const configuration = new Configuration(document as unknown as ServerMetadata, clientId, {
      client_secret: clientSecret.reveal(),
      [clockTolerance]: ANY_TIME,
    });
    configuration[customFetch] = this.transport.fetch;
    // oxlint-disable-next-line typescript/no-deprecated -- marked so to stand out
    if (this.isInsecure) allowInsecureRequests(configuration);
    return configuration;
  }

  private async keySet(): Promise<KeySet> {
    const { jwks_uri } = (await this.discovery.get()).serverMetadata();
    const document = await this.transport.document(jwks_uri ?? '');
    try {
      return createLocalJWKSet(document as unknown as JSONWebKeySet); // checks the form
    } catch {
      throw this.transport.unusable('no key set');
    }
  }
}

function isEndpoint(url: unknown, isInsecure: boolean): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false;
  const { protocol } = new URL(url);
  return protocol === 'https:' || (isInsecure && protocol === 'http:');
}

function failed(code: SignInFailure, reason: string): Extract<Vouched, { kind: 'failed' }> {
  return { kind: 'failed', code, reason };
}

/** Words of the libraries and codes of RFC 6749; never the provider's prose. */
function failureOf(error: unknown): Extract<Vouched, { kind: 'failed' }> {
  if (error instanceof AuthorizationResponseError) {
    const isCancelled = error.error === 'access_denied';
    return failed(isCancelled ? 'sign_in_cancelled' : 'provider_refused', plain(error.error));
  }
  if (error instanceof ResponseBodyError) return failed('provider_refused', plain(error.error));
  if (error instanceof WWWAuthenticateChallengeError) return failed('provider_refused', 'challenge');
  const unavailable = causeOf(error);
  if (unavailable !== null) return failed('provider_unavailable', unavailable.message);
  if (error instanceof ClientError) return failed('answer_invalid', error.code ?? 'unknown');
  throw error;
}

function plain(code: string): string {
  return /^\w{1,64}$/.test(code) ? code : 'unknown';
}

function causeOf(error: unknown): ProviderUnavailable | null {
  if (error instanceof ProviderUnavailable) return error;
  return error instanceof Error && error.cause !== undefined ? causeOf(error.cause) : null;
}
