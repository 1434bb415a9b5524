import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { userSubject } from '../../audit/domain/audit-event.js';
import { Throttle, type ThrottledAttempt } from '../../auth/domain/throttle.js';
import type { VouchedProof } from '../../auth/domain/session.js';
import { SessionsService } from '../../auth/sessions.service.js';
import type { TokenPair } from '../../auth/tokens.service.js';
import { Clock } from '../../kernel/clock.js';
import { secretDigest } from '../../kernel/secret.js';
import type { Client } from '../../platform/access.js';
import { Transaction } from '../../platform/transaction.js';
import type { Account } from '../../users/domain/account.js';
import { provedAtOf } from './domain/confirmation.js';
import { isAbsent } from './domain/identifiers.js';
import { type Claims, IdentityProvider, type ProviderTokenFault } from './domain/identity-provider.js';
import { type NewProviderSession, OidcStore } from './domain/oidc-store.js';
import { personOf } from './domain/person.js';
import { providerSessionOf } from './domain/provider-session.js';
import { type ExchangeFailure, shownTokenFault } from './domain/shown-token.js';
import { OidcGroupsService } from './oidc-groups.service.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcSettings } from './oidc-settings.js';
import { PeopleService } from './people.service.js';

export type Exchange = Judged | ThrottledAttempt;

type Judged = { kind: 'exchanged'; tokens: TokenPair } | ExchangeRefusal;

/** `reason` is for the log and the audit event. */
interface ExchangeRefusal {
  kind: 'refused';
  code: ExchangeFailure;
  reason: string;
  account: Account | null;
}

const CODES: Record<ProviderTokenFault, ExchangeFailure> = {
  past: 'token_expired',
  future: 'clocks_differ',
  audience: 'token_wrong_audience',
  other: 'token_invalid',
};

const HOUR_MS = 3_600_000;

/** Sessions for clients whose people are signed in at the provider already, by a token of theirs. */
@Injectable()
export class OidcExchangesService {
  constructor(
    private readonly settings: OidcSettings,
    private readonly provider: IdentityProvider,
    private readonly store: OidcStore,
    private readonly people: PeopleService,
    private readonly groups: OidcGroupsService,
    private readonly sessions: SessionsService,
    private readonly throttle: Throttle,
    private readonly transaction: Transaction,
    private readonly audit: AuditService,
    private readonly clock: Clock,
    private readonly metrics: OidcMetrics,
  ) {}

  /** Throttles failures by address: a notebook's host exchanges for many people. @throws Refused `not_found` without a provider */
  async exchange(token: string, client: Client): Promise<Exchange> {
    this.settings.demand();
    const attempt = await this.throttle.exchange(client.address);
    if (attempt.kind === 'throttled') {
      if (attempt.first) await this.record('login_throttled', null, { limit: attempt.quota.name }, client);
      return attempt;
    }
    const outcome = await this.judged(token, client);
    if (outcome.kind === 'exchanged') {
      await this.throttle.takeBack(attempt);
      this.metrics.succeeded('exchanged');
      return outcome;
    }
    const { code, reason, account } = outcome;
    if (code === 'busy' || code === 'provider_unavailable') await this.throttle.takeBack(attempt);
    this.metrics.failed(code);
    await this.record('login_failed', account, { by: 'exchange', reason: code, cause: reason }, client);
    return outcome;
  }

  private async judged(token: string, client: Client): Promise<Judged> {
    const verdict = await this.provider.judge(token, this.settings.given.audience, null);
    if (verdict.kind === 'unavailable') return refused('provider_unavailable', 'keys');
    if (verdict.kind === 'refused') return refused(CODES[verdict.fault], verdict.reason);
    const { claims, type } = verdict;
    const fault = shownTokenFault(claims, type, this.settings.given.clientId);
    return fault === null ? this.signIn(token, claims, client) : refused(fault.code, fault.reason);
  }

  /** The token counts as used from here on, whatever comes of it. */
  private async signIn(token: string, claims: Claims, client: Client): Promise<Judged> {
    const { given } = this.settings;
    const person = personOf(claims, given);
    if (person === null) return refused('token_without_subject', given.subjectClaim);
    if (isAbsent(person.name)) return refused('name_missing', given.usernameClaim);
    const session = providerSessionOf(claims, given.issuer, null);
    if (session === null) return refused('token_invalid', 'sub or sid');
    if (await this.store.hasEnded(session, null)) return ENDED;
    const now = this.clock.now();
    const left = Number(claims['exp']) * 1000 - now.getTime();
    if (left <= 0) return refused('token_expired', 'exp');
    if (!(await this.store.use(digestOf(token), new Date(now.getTime() + HOUR_MS), now))) {
      return refused('token_used', 'used before');
    }
    const by = { actor: null, origin: client };
    const found = await this.people.accountOf(person, given, by);
    if (found.kind === 'refused') return refused(found.code, 'person', found.account);
    const { account } = found;
    // Another client's token may leave the claim out, whatever groups somebody is in.
    const saysGroups = given.groupsClaim !== null && claims[given.groupsClaim] !== undefined;
    const longest = Math.min(left, given.sessionHours * HOUR_MS);
    const isDone =
      !saysGroups || (await this.groups.follow(account, claims, by, { isReported: true, heldMs: longest }));
    if (!isDone) return refused('busy', 'groups', account);
    return this.open(account, session, { provedAt: provedAtOf(claims, now), longest }, client);
  }

  /** Together: a sign-out by the back channel finds the session as soon as there is one. */
  private open(account: Account, at: NewProviderSession, proof: VouchedProof, client: Client): Promise<Judged> {
    return this.transaction.run(async () => {
      if (await this.store.hasEnded(at, account.id)) return ENDED;
      const opened = await this.sessions.openVouched(account, { ...proof, by: 'exchange' }, client);
      if (opened === null) return refused('account_deactivated', 'session', account);
      await this.store.keepSession(opened.sessionId, at, this.clock.now());
      return { kind: 'exchanged', tokens: opened.tokens };
    });
  }

  private async record(
    event: 'login_failed' | 'login_throttled',
    account: Account | null,
    details: Record<string, string>,
    client: Client,
  ): Promise<void> {
    const subject = account === null ? null : userSubject(account);
    await this.audit.record({ event, actor: null, subject, origin: client, details });
  }
}

const ENDED = refused('token_invalid', 'of an ended session');

/** Of what is signed: the spelling of a signature can be changed, and not every provider gives tokens an id. */
function digestOf(token: string): Buffer {
  return secretDigest(`exchange ${token.slice(0, token.lastIndexOf('.'))}`);
}

function refused(code: ExchangeFailure, reason: string, account: Account | null = null): ExchangeRefusal {
  return { kind: 'refused', code, reason, account };
}
