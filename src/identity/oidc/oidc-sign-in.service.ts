import { Injectable } from '@nestjs/common';
import { browserCookie, type CookieSite } from '../../auth/domain/browser-cookie.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { Throttle } from '../../auth/throttle.store.js';
import type { TokenPair } from '../../auth/tokens.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { Ids } from '../../kernel/ids.js';
import { secretDigest } from '../../kernel/secret.js';
import type { Client } from '../../platform/http/access.js';
import { Transaction } from '../../platform/database/transaction.js';
import { Settings } from '../../platform/settings/settings.js';
import type { Account } from '../../users/domain/account.js';
import { UserStore } from '../../users/user.store.js';
import { type Claims, type ExchangeFailure, isAbsent, provedAtOf, presentedTokenFault } from './domain/claims.js';
import { addParameters, CODE_MS, type Failed, failure, isVerifierOf } from './domain/flow.js';
import { personOf } from './domain/person.js';
import { type NewProviderSession, providerSessionOf, type SignInCode } from './domain/provider-session.js';
import { IdentityProvider } from './identity-provider.js';
import { OidcAccountService } from './oidc-account.service.js';
import { OidcFlowsService, type Redirect, type ProviderReturn } from './oidc-flows.service.js';
import { OidcMetrics } from './oidc.metrics.js';
import { requireOidc } from './oidc-settings.js';
import { OidcStore } from './oidc.store.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

const HOUR_MS = 3_600_000;

type ExchangeFailed = Failed<ExchangeFailure>;

/**
 * Signs people in by the identity provider: web clients get a code, the console gets a cookie, and a client that presents a token of
 * the provider gets tokens.
 */
@Injectable()
export class OidcSignInService {
  constructor(
    private readonly settings: Settings,
    private readonly provider: IdentityProvider,
    private readonly flows: OidcFlowsService,
    private readonly accounts: OidcAccountService,
    private readonly people: PeopleService,
    private readonly users: UserStore,
    private readonly store: OidcStore,
    private readonly sessions: SessionsService,
    private readonly transaction: Transaction,
    private readonly seal: SealService,
    private readonly throttle: Throttle,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly metrics: OidcMetrics,
  ) {}

  /**
   * The redirect to the provider. @param challenge the web client's; null: the console @param isAnew asks people to sign in again if they
   * are signed in @param cookies the browser's cookies
   */
  async begin(
    { returnTo, challenge, isAnew }: { returnTo: string; challenge: string | null; isAnew: boolean },
    cookies: ReadonlyMap<string, string>,
    client: Client,
  ): Promise<Redirect> {
    const onward = await this.flows.begin(returnTo, { kind: 'sign-in', challenge, isAnew }, cookies);
    if (onward !== null) return onward;
    return {
      location: await this.failureUrl(returnTo, failure('provider_unavailable', 'discovery'), client),
      cookies: [],
    };
  }

  /** The redirect after the return from the provider. @throws Refused `bad_request` for a foreign `state` */
  async finish(
    answer: URLSearchParams,
    cookies: ReadonlyMap<string, string>,
    { client, site }: { client: Client; site: CookieSite },
  ): Promise<Redirect> {
    const { returnTo, served, outcome } = await this.flows.checkReturn(answer, cookies, client.address);
    const onward = outcome.kind === 'failed' ? outcome : await this.continueSignIn(returnTo, outcome, client, site);
    if ('location' in onward) return { ...onward, cookies: [served, ...onward.cookies] };
    return { location: await this.failureUrl(returnTo, onward, client), cookies: [served] };
  }

  private async continueSignIn(
    returnTo: string,
    returned: ProviderReturn,
    client: Client,
    site: CookieSite,
  ): Promise<Redirect | Failed> {
    const { purpose, claims } = returned;
    if (purpose.kind !== 'sign-in') {
      const isLink = purpose.kind === 'link';
      const refused = isLink
        ? await this.accounts.link(purpose, returned, client)
        : await this.accounts.confirm(purpose, returned, client);
      if (refused === null) this.metrics.signIns.inc({ outcome: isLink ? 'linked' : 'confirmed' });
      return refused ?? { location: returnTo, cookies: [] };
    }
    const outcome = await this.signIn(returned, client);
    if (outcome.kind === 'failed') return outcome;
    const { account, session } = outcome;
    const provedAt = provedAtOf(claims, this.clock.now());
    // In one transaction, so that a back-channel sign-out finds the code or session as soon as it exists.
    const onward = await this.transaction.run(async (): Promise<Redirect | Failed> => {
      if (await this.store.hasEnded(session, account.id)) return ended(account);
      if (purpose.challenge !== null) {
        const code = await this.storeCode({ userId: account.id, challenge: purpose.challenge, provedAt, session });
        return { location: addParameters(returnTo, { code }), cookies: [] };
      }
      const longest = requireOidc(this.settings).sessionHours * HOUR_MS;
      const proof = { checkedHash: null, provedAt, longest, by: 'oidc' } as const;
      const opened = await this.sessions.openForBrowser(account, proof, client);
      if (opened === null) return failure('account_deactivated', 'session', account);
      await this.store.keepSession(opened.sessionId, session, this.clock.now());
      return { location: returnTo, cookies: [browserCookie(site, opened.cookie)] };
    });
    if ('location' in onward && purpose.challenge === null) this.metrics.signIns.inc({ outcome: 'signed_in' });
    return onward;
  }

  private async signIn(
    { claims, tokens }: ProviderReturn,
    client: Client,
  ): Promise<{ kind: 'signed-in'; account: Account; session: NewProviderSession } | Failed> {
    const given = requireOidc(this.settings);
    const person = personOf(claims, given);
    if (person === null) return failure('subject_invalid', 'claims');
    const session = providerSessionOf(claims, given.issuer, this.seal.sealTokens(tokens));
    if (session === null) return failure('answer_invalid', 'sub or sid');
    if (await this.store.hasEnded(session, null)) return ended(null);
    const by = { actor: null, origin: client };
    const account = await this.people.accountOf(person, by);
    if ('code' in account) return account;
    // Without a refresh token groups cannot be rechecked, so the memberships last as long as the session.
    const heldMs = tokens.refreshToken === null ? given.sessionHours * HOUR_MS : 0;
    if (!(await this.people.applyGroupsClaim(account, claims, by, { isReported: true, heldMs }))) {
      return failure('busy', 'groups');
    }
    return { kind: 'signed-in', account, session };
  }

  /** A code that only the client that began the flow can redeem. */
  private async storeCode(signIn: Omit<SignInCode, 'expiresAt'>): Promise<string> {
    const code = this.ids.secret();
    const now = this.clock.now();
    await this.store.putCode(secretDigest(code), { ...signIn, expiresAt: new Date(now.getTime() + CODE_MS) }, now);
    return code;
  }

  /**
   * Exchanges a web client's code for tokens. A code can be used once, and a wrong verifier uses it up.
   * @throws Refused `code_invalid`, whose answer is the same for all reasons; `account_deactivated`
   */
  async redeem(code: string, verifier: string, client: Client): Promise<TokenPair> {
    const { sessionHours } = requireOidc(this.settings);
    // In one transaction, so that a back-channel sign-out finds the code or its session.
    const outcome = await this.transaction.run(async (): Promise<TokenPair | Refused> => {
      const taken = await this.store.takeCode(secretDigest(code));
      if (taken === null) return new Refused('code_invalid', { reason: 'unknown' });
      if (taken.expiresAt <= this.clock.now()) return new Refused('code_invalid', { reason: 'expired' });
      if (!isVerifierOf(taken.challenge, verifier)) return new Refused('code_invalid', { reason: 'verifier' });
      const account = await this.users.find(taken.userId);
      const { provedAt } = taken;
      const proof = { checkedHash: null, provedAt, longest: sessionHours * HOUR_MS, by: 'oidc' } as const;
      const opened = account && (await this.sessions.open(account, proof, client));
      if (opened === null) return new Refused('account_deactivated');
      await this.store.keepSession(opened.sessionId, taken.session, this.clock.now());
      return opened.tokens;
    });
    // Thrown after the transaction, which has removed the code.
    if (outcome instanceof Refused) throw outcome;
    this.metrics.signIns.inc({ outcome: 'signed_in' });
    return outcome;
  }

  /**
   * Opens a session for a presented token of the provider. Throttles failures by address, but no successes, because a notebook server
   * exchanges tokens of many people. @throws Refused `not_found` without a provider; `too_many_requests`, a code of EXCHANGE_FAILURES
   */
  async exchange(token: string, client: Client): Promise<TokenPair> {
    const { audience } = requireOidc(this.settings);
    const attempt = await this.throttle.countAtProvider('exchange', client.address);
    if (attempt.kind === 'throttled') {
      await this.sessions.recordThrottled(attempt, client);
      throw new Refused('too_many_requests', attempt);
    }
    const outcome = await this.exchangeToken(token, audience, client);
    if (!('code' in outcome)) {
      await this.throttle.takeBack(attempt);
      this.metrics.signIns.inc({ outcome: 'exchanged' });
      return outcome;
    }
    const { code, reason, account } = outcome;
    if (code === 'busy' || code === 'provider_unavailable') await this.throttle.takeBack(attempt);
    this.metrics.signIns.inc({ outcome: code });
    await this.sessions.recordFailure(account, { by: 'exchange', reason: code, cause: reason }, client);
    throw new Refused(code, { reason });
  }

  private async exchangeToken(token: string, audience: string, client: Client): Promise<TokenPair | ExchangeFailed> {
    const verdict = await this.provider.verifyPresented(token, audience, null);
    if (verdict.kind === 'failed') return verdict;
    const { claims, type } = verdict;
    return (
      presentedTokenFault(claims, type, requireOidc(this.settings).clientId) ??
      this.exchangeClaims(token, claims, client)
    );
  }

  /** Uses the token up, also where the sign-in fails. */
  private async exchangeClaims(token: string, claims: Claims, client: Client): Promise<TokenPair | ExchangeFailed> {
    const given = requireOidc(this.settings);
    const person = personOf(claims, given);
    if (person === null) return failure('token_without_subject', given.subjectClaim);
    if (isAbsent(person.name)) return failure('name_missing', given.usernameClaim);
    const session = providerSessionOf(claims, given.issuer, null);
    if (session === null) return failure('token_invalid', 'sub or sid');
    if (await this.store.hasEnded(session, null)) return ENDED;
    const now = this.clock.now();
    const left = Number(claims['exp']) * 1000 - now.getTime();
    if (left <= 0) return failure('token_expired', 'exp');
    // By its signed part, because not every provider gives tokens an id, and one signature has several spellings.
    const digest = secretDigest(`exchange ${token.slice(0, token.lastIndexOf('.'))}`);
    if (!(await this.store.markUsed(digest, new Date(now.getTime() + HOUR_MS), now))) {
      return failure('token_used', 'used before');
    }
    const by = { actor: null, origin: client };
    const account = await this.people.accountOf(person, by);
    if ('code' in account) return account;
    // A token for another client may omit the claim although the person is in groups.
    const saysGroups = given.groupsClaim !== null && claims[given.groupsClaim] !== undefined;
    const longest = Math.min(left, given.sessionHours * HOUR_MS);
    const isDone =
      !saysGroups || (await this.people.applyGroupsClaim(account, claims, by, { isReported: true, heldMs: longest }));
    if (!isDone) return failure('busy', 'groups', account);
    const proof = { checkedHash: null, provedAt: provedAtOf(claims, now), longest, by: 'exchange' } as const;
    return this.transaction.run(async (): Promise<TokenPair | ExchangeFailed> => {
      if (await this.store.hasEnded(session, account.id)) return ENDED;
      const opened = await this.sessions.open(account, proof, client);
      if (opened === null) return failure('account_deactivated', 'session', account);
      await this.store.keepSession(opened.sessionId, session, this.clock.now());
      return opened.tokens;
    });
  }

  /** The return address after a failure. Failures beyond the throttle are not recorded, so that strangers cannot fill the audit trail. */
  private async failureUrl(returnTo: string, { code, reason, account }: Failed, client: Client): Promise<string> {
    this.metrics.signIns.inc({ outcome: code });
    const attempt = await this.throttle.countAtProvider('sign-in', client.address);
    if (attempt.kind === 'counted') {
      await this.sessions.recordFailure(account, { by: 'oidc', reason: code, cause: reason }, client);
    } else await this.sessions.recordThrottled(attempt, client);
    return addParameters(returnTo, { error: code, request_id: client.requestId });
  }
}

function ended(account: Account | null): Failed {
  return failure('session_ended', 'ended at the provider', account);
}

const ENDED = failure('token_invalid', 'of an ended session');
