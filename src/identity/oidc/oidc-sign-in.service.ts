import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { userSubject } from '../../audit/domain/audit-event.js';
import { browserCookie, type CookieSite } from '../../auth/domain/browser-cookie.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { Ids } from '../../kernel/ids.js';
import { secretDigest } from '../../kernel/secret-digest.js';
import type { Client } from '../../platform/access.js';
import { Transaction } from '../../platform/transaction.js';
import type { Account } from '../../users/domain/account.js';
import { clearCookie, cookieName, setCookie, surplusCookies } from './domain/cookies.js';
import { CODE_MS, FLOW_MS, type FlowCookie, type FlowState } from './domain/flow.js';
import { IdentityProvider } from './domain/identity-provider.js';
import { OidcStore, type ProviderSession } from './domain/oidc-store.js';
import { personOf } from './domain/person.js';
import { addressWith } from './domain/return-address.js';
import type { SignInFailure } from './domain/sign-in-failure.js';
import { OidcGroupsService } from './oidc-groups.service.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcSettings } from './oidc-settings.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

const HOUR_MS = 3_600_000;

/** Where the browser goes next, and the cookies that it gets. */
export interface Onward {
  location: string;
  cookies: string[];
}

interface SignedIn {
  kind: 'signed-in';
  account: Account;
  /** The web client's; null: the console's. */
  challenge: string | null;
  session: ProviderSession;
}

interface Failed {
  kind: 'failed';
  code: SignInFailure;
  /** For the log and the audit event. */
  reason: string;
  account: Account | null;
}

/** People's way to the provider, and back to the web client that they came from. */
@Injectable()
export class OidcSignInService {
  constructor(
    private readonly settings: OidcSettings,
    private readonly provider: IdentityProvider,
    private readonly people: PeopleService,
    private readonly groups: OidcGroupsService,
    private readonly store: OidcStore,
    private readonly sessions: SessionsService,
    private readonly transaction: Transaction,
    private readonly seal: SealService,
    private readonly audit: AuditService,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly metrics: OidcMetrics,
  ) {}

  /** The way there. @param cookies those that the browser has */
  async begin(
    { returnTo, challenge }: { returnTo: string; challenge: string | null },
    cookies: ReadonlyMap<string, string>,
    client: Client,
  ): Promise<Onward> {
    const state = this.seal.seal('state', { returnTo, startedAt: this.clock.now().getTime() });
    const flow: FlowCookie = { challenge, nonce: this.ids.secret(), verifier: this.ids.secret() + this.ids.secret() };
    const location = await this.provider.authorizationUrl(state, flow);
    if (location === null) {
      const failure: Failed = { kind: 'failed', code: 'provider_unavailable', reason: 'discovery', account: null };
      return { location: await this.failed(returnTo, failure, client), cookies: [] };
    }
    const cookie = setCookie(cookieName(state), this.seal.seal('cookie', flow, state), FLOW_MS / 1000);
    return { location, cookies: [...surplusCookies(cookies).map(clearCookie), cookie] };
  }

  /** The way back. @throws Refused `bad_request` for a `state` that is not ours, which leads nowhere */
  async finish(
    answer: URLSearchParams,
    cookies: ReadonlyMap<string, string>,
    { client, site }: { client: Client; site: CookieSite },
  ): Promise<Onward> {
    const [state = '', ...others] = answer.getAll('state');
    const opened = others.length > 0 ? null : this.seal.open('state', state);
    if (opened === null) {
      throw new Refused('bad_request', { detail: 'Sign in again from where you came.', reason: 'state' });
    }
    const { returnTo } = opened;
    const outcome = await this.outcomeOf(answer, { ...opened, state }, cookies.get(cookieName(state)) ?? '', client);
    const done = [clearCookie(cookieName(state))];
    if (outcome.kind === 'failed') return { location: await this.failed(returnTo, outcome, client), cookies: done };
    const { account, challenge, session } = outcome;
    if (challenge !== null) {
      return {
        location: addressWith(returnTo, { code: await this.codeFor(account, challenge, session) }),
        cookies: done,
      };
    }
    const cookie = await this.openConsole(account, session, client);
    if (cookie === null) {
      const deactivated: Failed = { kind: 'failed', code: 'account_deactivated', reason: 'session', account };
      return { location: await this.failed(returnTo, deactivated, client), cookies: done };
    }
    this.metrics.signedIn();
    return { location: returnTo, cookies: [...done, browserCookie(site, cookie)] };
  }

  /** Together: a sign-out by the back channel finds the session as soon as there is one. @returns its cookie */
  private openConsole(account: Account, at: ProviderSession, client: Client): Promise<string | null> {
    const longest = this.settings.given.sessionHours * HOUR_MS;
    return this.transaction.run(async () => {
      const opened = await this.sessions.openForBrowser(account, null, client, longest);
      if (opened !== null) await this.store.keepSession(opened.sessionId, at);
      return opened?.cookie ?? null;
    });
  }

  private async outcomeOf(
    answer: URLSearchParams,
    { state, startedAt }: FlowState & { state: string },
    cookie: string,
    client: Client,
  ): Promise<SignedIn | Failed> {
    const now = this.clock.now();
    const until = new Date(startedAt + FLOW_MS);
    if (until <= now) return failure('sign_in_expired', 'late');
    const flow = this.seal.open('cookie', cookie, state);
    if (flow === null) {
      const wasUsed = await this.store.wasUsed(secretDigest(state));
      return wasUsed ? failure('sign_in_replayed', 'no cookie') : failure('other_browser', 'no cookie');
    }
    if (!(await this.store.use(secretDigest(state), until, now))) return failure('sign_in_replayed', 'state');
    const vouched = await this.provider.redeem(answer, state, flow);
    if (vouched.kind === 'failed') return { ...vouched, account: null };
    const person = personOf(vouched.claims, this.settings.given);
    if (person === null) return failure('subject_invalid', 'claims');
    const by = { actor: null, origin: client };
    const found = await this.people.accountOf(person, this.settings.given, by);
    if (found.kind === 'refused') return { kind: 'failed', code: found.code, reason: 'person', account: found.account };
    if (!(await this.groups.follow(found.account, vouched.claims, by))) return failure('busy', 'groups');
    const session = {
      issuer: person.issuer,
      subject: String(vouched.claims['sub']),
      sid: textOrNull(vouched.claims['sid']),
      idToken: this.seal.seal('id-token', vouched.idToken),
    };
    return { kind: 'signed-in', account: found.account, challenge: flow.challenge, session };
  }

  /** A code of ours, which only the client that began can exchange. */
  private async codeFor(account: Account, challenge: string, session: ProviderSession): Promise<string> {
    const code = this.ids.secret();
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + CODE_MS);
    await this.store.putCode(secretDigest(code), { userId: account.id, challenge, expiresAt, session }, now);
    return code;
  }

  /** The address to go back to without having signed in. */
  private async failed(returnTo: string, { code, reason, account }: Failed, client: Client): Promise<string> {
    this.metrics.failed(code);
    const subject = account === null ? null : userSubject(account);
    const details = { by: 'oidc', reason: code, cause: reason };
    await this.audit.record({ event: 'login_failed', actor: null, subject, origin: client, details });
    return addressWith(returnTo, { error: code, request_id: client.requestId });
  }
}

function textOrNull(claim: unknown): string | null {
  return typeof claim === 'string' && claim !== '' ? claim : null;
}

function failure(code: SignInFailure, reason: string): Failed {
  return { kind: 'failed', code, reason, account: null };
}
