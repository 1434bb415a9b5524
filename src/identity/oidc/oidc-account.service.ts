import { Injectable } from '@nestjs/common';
import type { AuditContext } from '../../audit/domain/audit-event.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { GroupsService } from '../../grants/groups.service.js';
import { Clock } from '../../kernel/clock.js';
import { orNotFound, Refused } from '../../kernel/errors.js';
import { type AuthenticatedUser, type Client, sessionIdOf } from '../../platform/http/access.js';
import { Settings } from '../../platform/settings/settings.js';
import { Transaction } from '../../platform/database/transaction.js';
import { UserStore } from '../../users/user.store.js';
import { judgeNewSignIn, judgeConfirmation } from './domain/claims.js';
import { type Failure, failure, type FlowPurpose } from './domain/flow.js';
import { personOf } from './domain/person.js';
import { type Link, providerSessionOf } from './domain/provider-session.js';
import { OidcFlowsService, type Redirect, type ProviderReturn } from './oidc-flows.service.js';
import { requireOidc } from './identity-provider.js';
import { OidcStore } from './oidc.store.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

type Cookies = ReadonlyMap<string, string>;
type PurposeOfKind<K extends FlowPurpose['kind']> = Extract<FlowPurpose, { kind: K }>;

/** Path of the console's page that shows the link of the user's own account. */
const ME_PAGE = '/me';

/**
 * Redirects signed-in people to the provider and handles their return: to confirm the session of an account without a password, or to
 * link an account with a password to a person.
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
    private readonly clock: Clock,
  ) {}

  /**
   * Redirects to the provider for a confirmation. @param returnPath the page to return to @param cookies the browser's cookies
   * @throws Refused `not_found` if the session did not begin at the provider; `provider_unavailable`
   */
  async beginConfirmation(
    { id: userId, credential }: AuthenticatedUser,
    returnPath: string,
    cookies: Cookies,
  ): Promise<Redirect> {
    const { issuer } = requireOidc(this.settings);
    const sessionId = credential.kind === 'session' && credential.provedAt !== null ? credential.id : null;
    const providerSession = sessionId === null ? null : await this.store.sessionOf(sessionId);
    if (sessionId === null || providerSession?.issuer !== issuer) {
      throw new Refused('not_found', { detail: 'This session did not begin at the identity provider.' });
    }
    return this.flows.beginFromConsole(returnPath, { kind: 'confirm', userId, sessionId }, cookies);
  }

  /** Records the sign-in at the provider as a proof of identity, because the account has no password to ask for. @returns null: the proof is recorded */
  async confirm(
    { userId, sessionId }: PurposeOfKind<'confirm'>,
    { claims, tokens, startedAt }: ProviderReturn,
    client: Client,
  ): Promise<Failure | null> {
    const account = await this.users.find(userId);
    const providerSession = await this.store.sessionOf(sessionId);
    const person = personOf(claims, requireOidc(this.settings));
    const ownerId = person === null ? null : await this.store.accountIdOf(person);
    const times = { startedAt, now: this.clock.now() };
    const signedInAt = judgeConfirmation(claims, { userId, providerSession, ownerId }, times);
    if ('code' in signedInAt) return { ...signedInAt, account };
    if (account === null) return failure('session_ended', 'account');
    const session = providerSessionOf(claims, requireOidc(this.settings).issuer, this.seal.sealTokens(tokens));
    if (session === null) return failure('answer_invalid', 'sid', account);
    return this.transaction.run(async () => {
      const proof = { provedAt: signedInAt, method: 'oidc' } as const;
      const hasEnded = await this.store.hasEnded(session, userId);
      if (hasEnded || !(await this.sessions.recordProof(sessionId, account, proof, client))) {
        return failure('session_ended', 'ended', account);
      }
      // The sign-in may have begun a new session at the provider. That session is stored, so that its end also ends the session here.
      await this.store.saveProviderSession(sessionId, session, this.clock.now());
      return null;
    });
  }

  /** The link of an account; null: it has none. @throws Refused `not_found` if there is no such account or no identity provider */
  async linkOf(userId: number): Promise<Link | null> {
    requireOidc(this.settings);
    orNotFound(await this.users.find(userId));
    return this.store.linkOf(userId);
  }

  /**
   * Redirects to the provider for a link; the caller has checked the password. The provider asks for a new sign-in, because the browser
   * may be signed in as another person. @param cookies the browser's cookies @throws Refused `already_linked`, `provider_unavailable`
   */
  async beginLink(user: AuthenticatedUser, cookies: Cookies): Promise<Redirect> {
    if ((await this.store.linkOf(user.id)) !== null) throw new Refused('already_linked');
    return this.flows.beginFromConsole(
      ME_PAGE,
      { kind: 'link', userId: user.id, sessionId: sessionIdOf(user) },
      cookies,
    );
  }

  /** Links the person at the provider to the account from whose session the flow began. @returns null after success */
  async link(
    { userId, sessionId }: PurposeOfKind<'link'>,
    { claims, startedAt }: ProviderReturn,
    client: Client,
  ): Promise<Failure | null> {
    const signedInAt = judgeNewSignIn(claims, { startedAt, now: this.clock.now() });
    const person = personOf(claims, requireOidc(this.settings));
    return this.transaction.run(async () => {
      await this.store.lockAccount(userId);
      const account = await this.sessions.accountOf({ id: sessionId, userId });
      if (account === null) return failure('session_ended', 'ended', await this.users.find(userId));
      if ('code' in signedInAt) return { ...signedInAt, account };
      if (person === null) return failure('subject_invalid', 'claims', account);
      if (await this.people.link(account, person, { actor: account, origin: client })) return null;
      const isPersonLinked = (await this.store.linkOf(userId)) === null;
      return failure(isPersonLinked ? 'person_linked' : 'already_linked', 'link', account);
    });
  }

  /** @throws Refused `not_found`; `last_way_in` if the user could not sign in by password */
  async unlinkOwn(userId: number, context: AuditContext, client: Client): Promise<void> {
    requireOidc(this.settings);
    const account = orNotFound(await this.users.find(userId));
    const mayUsePassword = this.settings.auth.passwordSignInEnabled || account.role === 'admin';
    if (!mayUsePassword || !account.hasPassword) {
      throw new Refused('last_way_in', { detail: 'The account has no password to sign in with.' });
    }
    await this.unlink(userId, context, client);
  }

  /**
   * Unlinks an account from the provider. Ends its sessions from the provider and its memberships by claims, because nothing else would end them.
   * An account without a password will belong to the next person of that name, so its API tokens are revoked. @throws Refused `not_found`, `busy`
   */
  async unlink(userId: number, context: AuditContext, client: Client): Promise<void> {
    requireOidc(this.settings);
    await this.transaction.run(async () => {
      const account = orNotFound(await this.users.find(userId));
      const sessionIds = orNotFound(await this.people.unlink(account, context));
      await this.groups.setOidcMemberships(userId, [], context);
      await this.sessions.endProviderSessions(sessionIds, 'unlink', client);
      if (!account.hasPassword) await this.sessions.revokeTokens(userId, context);
    });
  }
}
