import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { type AuditContext, userSubject } from '../../audit/domain/audit-event.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { GroupsService } from '../../grants/groups.service.js';
import { Clock } from '../../kernel/clock.js';
import { orNotFound, Refused } from '../../kernel/errors.js';
import { type AuthenticatedUser, type Client, sessionIdOf } from '../../platform/http/access.js';
import { Settings } from '../../platform/settings/settings.js';
import { Transaction } from '../../platform/database/transaction.js';
import { UserStore } from '../../users/user.store.js';
import { judgeNewSignIn, judgeConfirmation } from './domain/claims.js';
import { type Failed, failure, type FlowPurpose } from './domain/flow.js';
import { personOf } from './domain/person.js';
import { type Link, providerSessionOf } from './domain/provider-session.js';
import { OidcFlowsService, type Redirect, type ProviderReturn } from './oidc-flows.service.js';
import { requireOidc } from './oidc-settings.js';
import { OidcStore } from './oidc.store.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

type Cookies = ReadonlyMap<string, string>;
type Purpose<K extends FlowPurpose['kind']> = Extract<FlowPurpose, { kind: K }>;

/** The console's page that shows the user's own link. */
const PAGE = '/me';

/**
 * Redirects signed-in people to the provider, to confirm the session of an account without a password, or to link an account with a
 * password to a person.
 */
@Injectable()
export class OidcAccountService {
  constructor(
    private readonly settings: Settings,
    private readonly flows: OidcFlowsService,
    private readonly people: PeopleService,
    private readonly store: OidcStore,
    private readonly users: UserStore,
    private readonly sessions: SessionsService,
    private readonly groups: GroupsService,
    private readonly seal: SealService,
    private readonly transaction: Transaction,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /**
   * Redirects to the provider for a confirmation. @param to the page to return to @param cookies the browser's cookies
   * @throws Refused `not_found` if the session did not begin at the provider; `provider_unavailable`
   */
  async beginConfirmation(
    { id: userId, credential }: AuthenticatedUser,
    to: string,
    cookies: Cookies,
  ): Promise<Redirect> {
    const { issuer } = requireOidc(this.settings);
    const sessionId = credential.kind === 'session' && credential.provedAt !== null ? credential.id : null;
    const session = sessionId === null ? null : await this.store.sessionOf(sessionId);
    if (sessionId === null || session?.issuer !== issuer) {
      throw new Refused('not_found', { detail: 'This session did not begin at the identity provider.' });
    }
    return this.flows.beginFromConsole(to, { kind: 'confirm', userId, sessionId }, cookies);
  }

  /** Confirms the session that began the flow, as a password would. @returns null: it is confirmed */
  async confirm(
    { userId, sessionId }: Purpose<'confirm'>,
    { claims, tokens, startedAt }: ProviderReturn,
    client: Client,
  ): Promise<Failed | null> {
    const account = await this.users.find(userId);
    const atProvider = await this.store.sessionOf(sessionId);
    const person = personOf(claims, requireOidc(this.settings));
    const ownerId = person === null ? null : await this.store.accountOf(person);
    const times = { startedAt, now: this.clock.now() };
    const judgement = judgeConfirmation(claims, { userId, atProvider, ownerId }, times);
    if ('code' in judgement) return { ...judgement, account };
    if (account === null) return failure('session_ended', 'account');
    const session = providerSessionOf(claims, requireOidc(this.settings).issuer, this.seal.sealTokens(tokens));
    if (session === null) return failure('answer_invalid', 'sid', account);
    return this.transaction.run(async () => {
      const proof = { at: judgement, by: 'oidc' } as const;
      const hasEnded = await this.store.hasEnded(session, userId);
      if (hasEnded || !(await this.sessions.prove(sessionId, account, proof, client))) {
        return failure('session_ended', 'ended', account);
      }
      // The provider may have a new session by now. From now on the end of that one ends this session.
      await this.store.keepSession(sessionId, session, this.clock.now());
      return null;
    });
  }

  /** The link of an account; null: it has none. @throws Refused `not_found` without a provider or such an account */
  async linkOf(userId: number): Promise<Link | null> {
    requireOidc(this.settings);
    orNotFound(await this.users.find(userId));
    return this.store.linkOf(userId);
  }

  /**
   * Redirects to the provider for a link, after the password was checked. The provider asks for a new sign-in, because the browser may
   * be signed in as another person. @param cookies the browser's cookies @throws Refused `already_linked`, `provider_unavailable`
   */
  async beginLink(user: AuthenticatedUser, cookies: Cookies): Promise<Redirect> {
    if ((await this.store.linkOf(user.id)) !== null) throw new Refused('already_linked');
    return this.flows.beginFromConsole(PAGE, { kind: 'link', userId: user.id, sessionId: sessionIdOf(user) }, cookies);
  }

  /** Links the account that began the flow. @returns null: it is linked */
  async link(
    { userId, sessionId }: Purpose<'link'>,
    { claims, startedAt }: ProviderReturn,
    client: Client,
  ): Promise<Failed | null> {
    const anew = judgeNewSignIn(claims, { startedAt, now: this.clock.now() });
    const person = personOf(claims, requireOidc(this.settings));
    return this.transaction.run(async () => {
      await this.store.lockAccount(userId);
      const account = await this.sessions.accountOf({ id: sessionId, userId });
      if (account === null) return failure('session_ended', 'ended', await this.users.find(userId));
      if ('code' in anew) return { ...anew, account };
      if (person === null) return failure('subject_invalid', 'claims', account);
      if (await this.people.link(account, person, { actor: account, origin: client })) return null;
      const isTaken = (await this.store.linkOf(userId)) === null;
      return failure(isTaken ? 'person_linked' : 'already_linked', 'link', account);
    });
  }

  /** @throws Refused `not_found`; `last_way_in` if the user could not sign in by password */
  async unlinkOwn(userId: number, by: AuditContext, client: Client): Promise<void> {
    requireOidc(this.settings);
    const account = orNotFound(await this.users.find(userId));
    const isOpen = this.settings.auth.passwordSignInEnabled || account.role === 'admin';
    if (!isOpen || !account.hasPassword) {
      throw new Refused('last_way_in', { detail: 'The account has no password to sign in with.' });
    }
    await this.unlink(userId, by, client);
  }

  /**
   * Removes a link, the sessions that began at the provider, and the memberships, which nothing would end later. An account without a
   * password will belong to the next person with its name, so its API tokens end as well. @throws Refused `not_found` without a link; `busy`
   */
  async unlink(userId: number, by: AuditContext, client: Client): Promise<void> {
    requireOidc(this.settings);
    await this.transaction.run(async () => {
      const account = orNotFound(await this.users.find(userId));
      const { person, sessionIds } = orNotFound(await this.store.unlink(userId));
      const details = { issuer: person.issuer, subject: person.subject };
      await this.audit.record({ event: 'account_unlinked', ...by, subject: userSubject(account), details });
      await this.groups.setOidcMemberships(userId, [], by);
      await this.sessions.endProviderSessions(sessionIds, 'unlink', client);
      if (!account.hasPassword) await this.sessions.revokeTokens(userId);
    });
  }
}
