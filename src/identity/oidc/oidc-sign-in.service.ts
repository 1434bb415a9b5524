import { Injectable } from '@nestjs/common';
import { browserCookieHeader, type CookieSite } from '../../auth/domain/browser-cookie.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { Throttle } from '../../auth/throttle.store.js';
import type { TokenPair } from '../../auth/tokens.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { IdSource } from '../../kernel/ids.js';
import { secretDigest } from '../../kernel/secret.js';
import type { Client } from '../../platform/http/access.js';
import { Transaction } from '../../platform/database/transaction.js';
import { Settings } from '../../platform/settings/settings.js';
import type { Account } from '../../users/domain/account.js';
import { UserStore } from '../../users/user.store.js';
import { type Claims, type ExchangeFailure, isAbsent, provedAtOf, presentedTokenFault } from './domain/claims.js';
import { addParameters, CODE_LIFETIME_MS, type Failure, failure, isVerifierOf } from './domain/flow.js';
import { personOf } from './domain/person.js';
import { type NewProviderSession, providerSessionOf, type SignInCode } from './domain/provider-session.js';
import { IdentityProvider, requireOidc } from './identity-provider.js';
import { OidcAccountService } from './oidc-account.service.js';
import { OidcFlowsService, type Redirect, type ProviderReturn } from './oidc-flows.service.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcStore } from './oidc.store.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

const HOUR_MS = 3_600_000;

type FailedExchange = Failure<ExchangeFailure>;
type RedemptionFailure = 'code_invalid' | 'account_deactivated';

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
    private readonly idSource: IdSource,
    private readonly metrics: OidcMetrics,
  ) {}

  /**
   * The redirect to the provider. @param challenge the web client's challenge; null: the console @param isForced whether the provider must
   * ask even people who are signed in there @param cookies the browser's cookies
   */
  async begin(
    { returnTo, challenge, isForced }: { returnTo: string; challenge: string | null; isForced: boolean },
    cookies: ReadonlyMap<string, string>,
    client: Client,
  ): Promise<Redirect> {
    const redirect = await this.flows.begin(returnTo, { kind: 'sign-in', challenge, isForced }, cookies);
    if (redirect !== null) return redirect;
    const unavailability = failure('provider_unavailable', 'discovery');
    return { location: await this.failureUrl(returnTo, unavailability, client), cookies: [] };
  }

  /** The redirect after the return from the provider. @throws Refused `bad_request` for a `state` that this service did not seal */
  async finish(
    answer: URLSearchParams,
    cookies: ReadonlyMap<string, string>,
    { client, site }: { client: Client; site: CookieSite },
  ): Promise<Redirect> {
    const { returnTo, clearingCookie, outcome } = await this.flows.checkReturn(answer, cookies, client.address);
    const redirect = outcome.kind === 'failed' ? outcome : await this.continueSignIn(returnTo, outcome, client, site);
    if ('location' in redirect) return { ...redirect, cookies: [clearingCookie, ...redirect.cookies] };
    return { location: await this.failureUrl(returnTo, redirect, client), cookies: [clearingCookie] };
  }

  private async continueSignIn(
    returnTo: string,
    providerReturn: ProviderReturn,
    client: Client,
    site: CookieSite,
  ): Promise<Redirect | Failure> {
    const { purpose, claims } = providerReturn;
    if (purpose.kind !== 'sign-in') {
      const isLink = purpose.kind === 'link';
      const flowFailure = isLink
        ? await this.accounts.link(purpose, providerReturn, client)
        : await this.accounts.confirm(purpose, providerReturn, client);
      if (flowFailure === null) this.metrics.signIns.inc({ outcome: isLink ? 'linked' : 'confirmed' });
      return flowFailure ?? { location: returnTo, cookies: [] };
    }
    const outcome = await this.signIn(providerReturn, client);
    if (outcome.kind === 'failed') return outcome;
    const { account, session } = outcome;
    const provedAt = provedAtOf(claims, this.clock.now());
    // The check and the new code or session are one transaction, so that a concurrent back-channel sign-out finds the code or session.
    const redirect = await this.transaction.run(async (): Promise<Redirect | Failure> => {
      if (await this.store.hasEnded(session, account.id)) return endedSessionFailure(account);
      if (purpose.challenge !== null) {
        const code = await this.storeCode({ userId: account.id, challenge: purpose.challenge, provedAt, session });
        return { location: addParameters(returnTo, { code }), cookies: [] };
      }
      const maxLifetimeMs = requireOidc(this.settings).sessionHours * HOUR_MS;
      const proof = { checkedHash: null, provedAt, maxLifetimeMs, method: 'oidc' } as const;
      const openedSession = await this.sessions.openForBrowser(account, proof, client);
      if (openedSession === null) return failure('account_deactivated', 'session', account);
      await this.store.saveProviderSession(openedSession.sessionId, session, this.clock.now());
      return { location: returnTo, cookies: [browserCookieHeader(site, openedSession.cookie)] };
    });
    if ('location' in redirect && purpose.challenge === null) this.metrics.signIns.inc({ outcome: 'signed_in' });
    return redirect;
  }

  private async signIn(
    { claims, tokens }: ProviderReturn,
    client: Client,
  ): Promise<{ kind: 'signed-in'; account: Account; session: NewProviderSession } | Failure> {
    const oidc = requireOidc(this.settings);
    const person = personOf(claims, oidc);
    if (person === null) return failure('subject_invalid', 'claims');
    const session = providerSessionOf(claims, oidc.issuer, this.seal.sealTokens(tokens));
    if (session === null) return failure('answer_invalid', 'sub or sid');
    if (await this.store.hasEnded(session, null)) return endedSessionFailure(null);
    const context = { actor: null, origin: client };
    const account = await this.people.accountOf(person, context);
    if ('code' in account) return account;
    // Without a refresh token the groups cannot be rechecked, so the memberships are valid for as long as the session can last.
    const validityMs = tokens.refreshToken === null ? oidc.sessionHours * HOUR_MS : 0;
    if (!(await this.people.applyGroupsClaim(account, claims, context, { mustReport: true, validityMs }))) {
      return failure('busy', 'groups');
    }
    return { kind: 'signed-in', account, session };
  }

  /** Stores a sign-in, and returns its code. Only the client that began the flow knows the verifier to redeem the code. */
  private async storeCode(signIn: Omit<SignInCode, 'expiresAt'>): Promise<string> {
    const code = this.idSource.secret();
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + CODE_LIFETIME_MS);
    await this.store.putCode(secretDigest(code), { ...signIn, expiresAt }, now);
    return code;
  }

  /**
   * Exchanges a web client's code for tokens. A code can be used once; an attempt with a wrong verifier also uses it up.
   * @throws Refused `code_invalid` (the answer is the same for every reason), `account_deactivated`
   */
  async redeem(code: string, verifier: string, client: Client): Promise<TokenPair> {
    const { sessionHours } = requireOidc(this.settings);
    // One transaction takes the code and opens the session, so that a concurrent back-channel sign-out finds either the code or the session.
    const outcome = await this.transaction.run(async (): Promise<TokenPair | Failure<RedemptionFailure>> => {
      const signIn = await this.store.takeCode(secretDigest(code));
      if (signIn === null) return failure('code_invalid', 'unknown');
      const account = await this.users.find(signIn.userId);
      if (signIn.expiresAt <= this.clock.now()) return failure('code_invalid', 'expired', account);
      if (!isVerifierOf(signIn.challenge, verifier)) return failure('code_invalid', 'verifier', account);
      const { provedAt } = signIn;
      const proof = { checkedHash: null, provedAt, maxLifetimeMs: sessionHours * HOUR_MS, method: 'oidc' } as const;
      const openedSession = account && (await this.sessions.open(account, proof, client));
      if (openedSession === null) return failure('account_deactivated', 'session', account);
      await this.store.saveProviderSession(openedSession.sessionId, signIn.session, this.clock.now());
      return openedSession.tokens;
    });
    // The refusal is thrown after the transaction, so that the removal of the code is committed.
    if ('code' in outcome) {
      await this.recordFailure(outcome, client);
      throw new Refused(outcome.code, { reason: outcome.reason });
    }
    this.metrics.signIns.inc({ outcome: 'signed_in' });
    return outcome;
  }

  /**
   * Opens a session for a presented token of the provider. Throttles failures by address, but not successes, because a notebook server
   * exchanges tokens of many people. @throws Refused `not_found`: no provider is configured; `too_many_requests`; codes of EXCHANGE_FAILURES
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

  private async exchangeToken(token: string, audience: string, client: Client): Promise<TokenPair | FailedExchange> {
    const verdict = await this.provider.verifyPresented(token, audience, null);
    if (verdict.kind === 'failed') return verdict;
    const { claims, type } = verdict;
    return (
      presentedTokenFault(claims, type, requireOidc(this.settings).clientId) ??
      this.exchangeClaims(token, claims, client)
    );
  }

  /** Opens a session by the verified claims of a presented token. Each token can be used once, even if the sign-in fails after that. */
  private async exchangeClaims(token: string, claims: Claims, client: Client): Promise<TokenPair | FailedExchange> {
    const oidc = requireOidc(this.settings);
    const person = personOf(claims, oidc);
    if (person === null) return failure('token_without_subject', oidc.subjectClaim);
    if (isAbsent(person.name)) return failure('name_missing', oidc.usernameClaim);
    const session = providerSessionOf(claims, oidc.issuer, null);
    if (session === null) return failure('token_invalid', 'sub or sid');
    if (await this.store.hasEnded(session, null)) return ENDED_SESSION_FAILURE;
    const now = this.clock.now();
    const remainingMs = Number(claims['exp']) * 1000 - now.getTime();
    if (remainingMs <= 0) return failure('token_expired', 'exp');
    // The digest is of the signed part only: not every provider gives tokens an id, and one signature has several base64url spellings.
    const digest = secretDigest(`exchange ${token.slice(0, token.lastIndexOf('.'))}`);
    if (!(await this.store.markUsed(digest, new Date(now.getTime() + HOUR_MS), now))) {
      return failure('token_used', 'used before');
    }
    const context = { actor: null, origin: client };
    const account = await this.people.accountOf(person, context);
    if ('code' in account) return account;
    // Without the claim about groups the memberships stay as they are: a token for another client may omit it although the person has groups.
    const hasGroupsClaim = oidc.groupsClaim !== null && claims[oidc.groupsClaim] !== undefined;
    const maxLifetimeMs = Math.min(remainingMs, oidc.sessionHours * HOUR_MS);
    const areGroupsApplied =
      !hasGroupsClaim ||
      (await this.people.applyGroupsClaim(account, claims, context, { mustReport: true, validityMs: maxLifetimeMs }));
    if (!areGroupsApplied) return failure('busy', 'groups', account);
    const proof = { checkedHash: null, provedAt: provedAtOf(claims, now), maxLifetimeMs, method: 'exchange' } as const;
    return this.transaction.run(async (): Promise<TokenPair | FailedExchange> => {
      if (await this.store.hasEnded(session, account.id)) return ENDED_SESSION_FAILURE;
      const openedSession = await this.sessions.open(account, proof, client);
      if (openedSession === null) return failure('account_deactivated', 'session', account);
      await this.store.saveProviderSession(openedSession.sessionId, session, this.clock.now());
      return openedSession.tokens;
    });
  }

  /** The return address after a failure. */
  private async failureUrl(returnTo: string, signInFailure: Failure, client: Client): Promise<string> {
    await this.recordFailure(signInFailure, client);
    return addParameters(returnTo, { error: signInFailure.code, request_id: client.requestId });
  }

  /** Counts and records a failure. Those beyond the throttle's limit are not recorded, so that strangers cannot fill the audit trail. */
  private async recordFailure({ code, reason, account }: Failure<string>, client: Client): Promise<void> {
    this.metrics.signIns.inc({ outcome: code });
    const attempt = await this.throttle.countAtProvider('sign-in', client.address);
    if (attempt.kind === 'counted') {
      await this.sessions.recordFailure(account, { by: 'oidc', reason: code, cause: reason }, client);
    } else await this.sessions.recordThrottled(attempt, client);
  }
}

function endedSessionFailure(account: Account | null): Failure {
  return failure('session_ended', 'ended at the provider', account);
}

const ENDED_SESSION_FAILURE = failure('token_invalid', 'of an ended session');
