import { Injectable } from '@nestjs/common';
import { Throttle } from '../../auth/throttle.store.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { Ids } from '../../kernel/ids.js';
import { secretDigest } from '../../kernel/secret.js';
import { Settings } from '../../platform/settings/settings.js';
import type { Claims } from './domain/claims.js';
import {
  clearCookie,
  cookieName,
  type Failed,
  failure,
  FLOW_MS,
  type FlowCookie,
  type FlowPurpose,
  type FlowState,
  setCookie,
  surplusCookies,
} from './domain/flow.js';
import { IdentityProvider } from './identity-provider.js';
import { requireOidc } from './oidc-settings.js';
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

/** Redirects people to the provider and checks their return, for all purposes. */
@Injectable()
export class OidcFlowsService {
  constructor(
    private readonly settings: Settings,
    private readonly provider: IdentityProvider,
    private readonly store: OidcStore,
    private readonly seal: SealService,
    private readonly throttle: Throttle,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /** The redirect to the provider. @param cookies the browser's cookies @returns null: the provider is unavailable */
  async begin(returnTo: string, purpose: FlowPurpose, cookies: ReadonlyMap<string, string>): Promise<Redirect | null> {
    const state = this.seal.seal('state', { returnTo, startedAt: this.clock.now().getTime() });
    const flow: FlowCookie = { purpose, nonce: this.ids.secret(), verifier: this.ids.secret() + this.ids.secret() };
    const location = await this.provider.authorizationUrl(state, flow, purpose.kind !== 'sign-in' || purpose.isAnew);
    if (location === null) return null;
    const cookie = setCookie(cookieName(state), this.seal.seal('cookie', flow, state), FLOW_MS / 1000);
    return { location, cookies: [...surplusCookies(cookies).map(clearCookie), cookie] };
  }

  /** The redirect to the provider, which returns to a page of the console. @throws Refused `provider_unavailable` */
  async beginFromConsole(page: string, purpose: FlowPurpose, cookies: ReadonlyMap<string, string>): Promise<Redirect> {
    const onward = await this.begin(new URL(page, requireOidc(this.settings).publicUrl).href, purpose, cookies);
    if (onward === null) throw new Refused('provider_unavailable', { reason: 'discovery' });
    return onward;
  }

  /**
   * Checks a return from the provider; each can be used once. Failures at the provider are throttled by address.
   * @returns `served`: the header that clears the flow's cookie
   * @throws Refused `bad_request` for a foreign `state`, which has no address to return to
   */
  async checkReturn(
    answer: URLSearchParams,
    cookies: ReadonlyMap<string, string>,
    address: string,
  ): Promise<{ returnTo: string; served: string; outcome: ProviderReturn | Failed }> {
    const [state = '', ...others] = answer.getAll('state');
    const opened = others.length > 0 ? null : this.seal.open('state', state);
    if (opened === null) {
      throw new Refused('bad_request', { detail: 'Sign in again from where you came.', reason: 'state' });
    }
    const name = cookieName(state);
    const outcome = await this.outcomeOf(answer, { ...opened, state }, cookies.get(name) ?? '', address);
    return { returnTo: opened.returnTo, served: clearCookie(name), outcome };
  }

  private async outcomeOf(
    answer: URLSearchParams,
    { state, startedAt }: FlowState & { state: string },
    cookie: string,
    address: string,
  ): Promise<ProviderReturn | Failed> {
    const now = this.clock.now();
    const until = new Date(startedAt + FLOW_MS);
    if (until <= now) return failure('sign_in_expired', 'late');
    const flow = this.seal.open('cookie', cookie, state);
    if (flow === null) {
      const wasUsed = await this.store.wasUsed(secretDigest(state));
      return wasUsed ? failure('sign_in_replayed', 'no cookie') : failure('other_browser', 'no cookie');
    }
    if (!(await this.store.markUsed(secretDigest(state), until, now))) return failure('sign_in_replayed', 'state');
    const attempt = await this.throttle.countAtProvider('redemption', address);
    if (attempt.kind === 'throttled') return failure('too_many_requests', attempt.quota.name);
    const vouched = await this.provider.redeem(answer, state, flow);
    if (vouched.kind === 'vouched' || vouched.code === 'provider_unavailable') await this.throttle.takeBack(attempt);
    if (vouched.kind === 'failed') return vouched;
    const { claims, idToken, refreshToken } = vouched;
    return { kind: 'returned', purpose: flow.purpose, startedAt, claims, tokens: { idToken, refreshToken } };
  }
}
