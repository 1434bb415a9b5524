import { Injectable } from '@nestjs/common';
import { Throttle } from '../../auth/throttle.store.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { IdSource } from '../../kernel/ids.js';
import { secretDigest } from '../../kernel/secret.js';
import { Settings } from '../../platform/settings/settings.js';
import type { Claims } from './domain/claims.js';
import {
  clearCookieHeader,
  cookieName,
  type Failure,
  failure,
  FLOW_LIFETIME_MS,
  type FlowCookie,
  type FlowPurpose,
  type FlowState,
  setCookieHeader,
  surplusCookies,
} from './domain/flow.js';
import { IdentityProvider, requireOidc } from './identity-provider.js';
import { OidcStore } from './oidc.store.js';
import { SealService } from './seal.service.js';

/** A redirect of the browser, with the cookies to set. */
export interface Redirect {
  location: string;
  cookies: string[];
}

/** A return from the provider with verified claims. */
export interface ProviderReturn {
  kind: 'returned';
  purpose: FlowPurpose;
  /** The flow's beginning in milliseconds since 1970. */
  startedAt: number;
  claims: Claims;
  tokens: { idToken: string; refreshToken: string | null };
}

/** Redirects people to the provider and checks their return, for every `FlowPurpose`. */
@Injectable()
export class OidcFlowsService {
  constructor(
    private readonly settings: Settings,
    private readonly provider: IdentityProvider,
    private readonly store: OidcStore,
    private readonly seal: SealService,
    private readonly throttle: Throttle,
    private readonly clock: Clock,
    private readonly idSource: IdSource,
  ) {}

  /** The redirect to the provider. @param cookies the browser's cookies @returns null: the provider is unavailable */
  async begin(returnTo: string, purpose: FlowPurpose, cookies: ReadonlyMap<string, string>): Promise<Redirect | null> {
    const state = this.seal.seal('state', { returnTo, startedAt: this.clock.now().getTime() });
    const flow: FlowCookie = {
      purpose,
      nonce: this.idSource.secret(),
      verifier: this.idSource.secret() + this.idSource.secret(),
    };
    const location = await this.provider.authorizationUrl(state, flow, purpose.kind !== 'sign-in' || purpose.isForced);
    if (location === null) return null;
    const cookie = setCookieHeader(cookieName(state), this.seal.seal('cookie', flow, state), FLOW_LIFETIME_MS / 1000);
    return { location, cookies: [...surplusCookies(cookies).map(clearCookieHeader), cookie] };
  }

  /** The redirect to the provider, which returns to a page of the console. @throws Refused `provider_unavailable` */
  async beginFromConsole(path: string, purpose: FlowPurpose, cookies: ReadonlyMap<string, string>): Promise<Redirect> {
    const redirect = await this.begin(new URL(path, requireOidc(this.settings).publicUrl).href, purpose, cookies);
    if (redirect === null) throw new Refused('provider_unavailable', { reason: 'discovery' });
    return redirect;
  }

  /**
   * Checks a return from the provider. Each return can be used once. Failures at the provider are throttled by address.
   * @returns `clearingCookie`: the header that clears the flow's cookie
   * @throws Refused `bad_request` if this service did not seal the `state`, because the address to return to is unknown then
   */
  async checkReturn(
    answer: URLSearchParams,
    cookies: ReadonlyMap<string, string>,
    clientAddress: string,
  ): Promise<{ returnTo: string; clearingCookie: string; outcome: ProviderReturn | Failure }> {
    const [state = '', ...otherStates] = answer.getAll('state');
    const flowState = otherStates.length > 0 ? null : this.seal.open('state', state);
    if (flowState === null) {
      throw new Refused('bad_request', { detail: 'Sign in again from where you came.', reason: 'state' });
    }
    const name = cookieName(state);
    const outcome = await this.checkAnswer(answer, { ...flowState, state }, cookies.get(name) ?? '', clientAddress);
    return { returnTo: flowState.returnTo, clearingCookie: clearCookieHeader(name), outcome };
  }

  private async checkAnswer(
    answer: URLSearchParams,
    { state, startedAt }: FlowState & { state: string },
    cookie: string,
    clientAddress: string,
  ): Promise<ProviderReturn | Failure> {
    const now = this.clock.now();
    const expiresAt = new Date(startedAt + FLOW_LIFETIME_MS);
    if (expiresAt <= now) return failure('sign_in_expired', 'late');
    const flow = this.seal.open('cookie', cookie, state);
    if (flow === null) {
      const wasUsed = await this.store.wasUsed(secretDigest(state));
      return wasUsed ? failure('sign_in_replayed', 'no cookie') : failure('other_browser', 'no cookie');
    }
    if (!(await this.store.markUsed(secretDigest(state), expiresAt, now))) return failure('sign_in_replayed', 'state');
    const attempt = await this.throttle.countAtProvider('redemption', clientAddress);
    if (attempt.kind === 'throttled') return failure('too_many_requests', attempt.quota.name);
    const outcome = await this.provider.redeem(answer, state, flow);
    if (outcome.kind === 'verified' || outcome.code === 'provider_unavailable') await this.throttle.takeBack(attempt);
    if (outcome.kind === 'failed') return outcome;
    const { claims, idToken, refreshToken } = outcome;
    return { kind: 'returned', purpose: flow.purpose, startedAt, claims, tokens: { idToken, refreshToken } };
  }
}
