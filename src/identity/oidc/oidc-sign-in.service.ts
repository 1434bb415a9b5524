import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { userSubject } from '../../audit/domain/audit-event.js';
import { browserCookie, type CookieSite } from '../../auth/domain/browser-cookie.js';
import { Throttle } from '../../auth/domain/throttle.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { Clock } from '../../kernel/clock.js';
import { Ids } from '../../kernel/ids.js';
import { secretDigest } from '../../kernel/secret.js';
import type { Client } from '../../platform/access.js';
import { Transaction } from '../../platform/transaction.js';
import type { Account } from '../../users/domain/account.js';
import { provedAtOf } from './domain/confirmation.js';
import { CODE_MS } from './domain/flow.js';
import { type NewProviderSession, OidcStore } from './domain/oidc-store.js';
import { personOf } from './domain/person.js';
import { providerSessionOf } from './domain/provider-session.js';
import { addressWith } from './domain/return-address.js';
import { OidcConfirmationsService } from './oidc-confirmations.service.js';
import { type Failed, failure, OidcFlowsService, type Onward, type Returned } from './oidc-flows.service.js';
import { OidcGroupsService } from './oidc-groups.service.js';
import { OidcLinksService } from './oidc-links.service.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcSettings } from './oidc-settings.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

const HOUR_MS = 3_600_000;

interface SignedIn {
  kind: 'signed-in';
  account: Account;
  session: NewProviderSession;
}

/** People's way to the provider, and back to the web client that they came from. */
@Injectable()
export class OidcSignInService {
  constructor(
    private readonly settings: OidcSettings,
    private readonly flows: OidcFlowsService,
    private readonly confirmations: OidcConfirmationsService,
    private readonly links: OidcLinksService,
    private readonly people: PeopleService,
    private readonly groups: OidcGroupsService,
    private readonly store: OidcStore,
    private readonly sessions: SessionsService,
    private readonly transaction: Transaction,
    private readonly seal: SealService,
    private readonly throttle: Throttle,
    private readonly audit: AuditService,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly metrics: OidcMetrics,
  ) {}

  /**
   * The way there. @param challenge the web client's; null: it is our console @param isAnew also for those who are signed in there
   * @param cookies those that the browser has
   */
  async begin(
    { returnTo, challenge, isAnew }: { returnTo: string; challenge: string | null; isAnew: boolean },
    cookies: ReadonlyMap<string, string>,
    client: Client,
  ): Promise<Onward> {
    const onward = await this.flows.begin(returnTo, { kind: 'sign-in', challenge, isAnew }, cookies);
    if (onward !== null) return onward;
    return { location: await this.failed(returnTo, failure('provider_unavailable', 'discovery'), client), cookies: [] };
  }

  /** The way back, for whatever purpose. @throws Refused `bad_request` for a `state` that is not ours, which leads nowhere */
  async finish(
    answer: URLSearchParams,
    cookies: ReadonlyMap<string, string>,
    { client, site }: { client: Client; site: CookieSite },
  ): Promise<Onward> {
    const { returnTo, served, outcome } = await this.flows.comeBack(answer, cookies, client.address);
    const onward = outcome.kind === 'failed' ? outcome : await this.goOn(returnTo, outcome, client, site);
    if ('location' in onward) return { ...onward, cookies: [served, ...onward.cookies] };
    return { location: await this.failed(returnTo, onward, client), cookies: [served] };
  }

  private async goOn(returnTo: string, returned: Returned, client: Client, site: CookieSite): Promise<Onward | Failed> {
    const { purpose, claims } = returned;
    if (purpose.kind !== 'sign-in') {
      const isLink = purpose.kind === 'link';
      const refused = isLink
        ? await this.links.finish(purpose, returned, client)
        : await this.confirmations.finish(purpose, returned, client);
      if (refused === null) this.metrics.succeeded(isLink ? 'linked' : 'confirmed');
      return refused ?? { location: returnTo, cookies: [] };
    }
    const outcome = await this.signIn(returned, client);
    if (outcome.kind === 'failed') return outcome;
    const { account, session } = outcome;
    const provedAt = provedAtOf(claims, this.clock.now());
    if (purpose.challenge !== null) {
      const code = await this.codeFor(account, { challenge: purpose.challenge, provedAt, session });
      if (code === null) return ended(account);
      return { location: addressWith(returnTo, { code }), cookies: [] };
    }
    const cookie = await this.openConsole(account, session, provedAt, client);
    if (typeof cookie !== 'string') return cookie;
    this.metrics.succeeded('signed_in');
    return { location: returnTo, cookies: [browserCookie(site, cookie)] };
  }

  /** Together: a sign-out by the back channel finds the session as soon as there is one. @returns its cookie */
  private openConsole(
    account: Account,
    at: NewProviderSession,
    provedAt: Date,
    client: Client,
  ): Promise<string | Failed> {
    const longest = this.settings.given.sessionHours * HOUR_MS;
    return this.transaction.run(async () => {
      if (await this.store.hasEnded(at, account.id)) return ended(account);
      const opened = await this.sessions.openForBrowser(account, { provedAt, longest }, client);
      if (opened === null) return failure('account_deactivated', 'session', account);
      await this.store.keepSession(opened.sessionId, at, this.clock.now());
      return opened.cookie;
    });
  }

  private async signIn({ claims, tokens }: Returned, client: Client): Promise<SignedIn | Failed> {
    const { given } = this.settings;
    const person = personOf(claims, given);
    if (person === null) return failure('subject_invalid', 'claims');
    const session = providerSessionOf(claims, given.issuer, this.seal.sealTokens(tokens));
    if (session === null) return failure('answer_invalid', 'sub or sid');
    if (await this.store.hasEnded(session, null)) return ended(null);
    const by = { actor: null, origin: client };
    const found = await this.people.accountOf(person, given, by);
    if (found.kind === 'refused') return failure(found.code, 'person', found.account);
    // A session with a refresh token is asked for.
    const heldMs = tokens.refreshToken === null ? given.sessionHours * HOUR_MS : 0;
    if (!(await this.groups.follow(found.account, claims, by, { isReported: true, heldMs }))) {
      return failure('busy', 'groups');
    }
    return { kind: 'signed-in', account: found.account, session };
  }

  /** A code of ours, which only the client that began can exchange; a sign-out by the back channel finds it. @returns null: it came first */
  private codeFor(
    account: Account,
    asked: { challenge: string; provedAt: Date; session: NewProviderSession },
  ): Promise<string | null> {
    const code = this.ids.secret();
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + CODE_MS);
    return this.transaction.run(async () => {
      if (await this.store.hasEnded(asked.session, account.id)) return null;
      await this.store.putCode(secretDigest(code), { userId: account.id, expiresAt, ...asked }, now);
      return code;
    });
  }

  /** The address to go back to without having signed in. Strangers cannot fill the audit trail: past the throttle, no more is recorded. */
  private async failed(returnTo: string, { code, reason, account }: Failed, client: Client): Promise<string> {
    this.metrics.failed(code);
    const attempt = await this.throttle.failedSignIn(client.address);
    if (attempt.kind === 'counted') {
      const subject = account === null ? null : userSubject(account);
      const details = { by: 'oidc', reason: code, cause: reason };
      await this.audit.record({ event: 'login_failed', actor: null, subject, origin: client, details });
    } else if (attempt.first) {
      const details = { limit: attempt.quota.name };
      await this.audit.record({ event: 'login_throttled', actor: null, subject: null, origin: client, details });
    }
    return addressWith(returnTo, { error: code, request_id: client.requestId });
  }
}

function ended(account: Account | null): Failed {
  return failure('session_ended', 'ended at the provider', account);
}
