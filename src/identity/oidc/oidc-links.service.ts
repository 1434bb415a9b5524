import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import { type AuditContext, userSubject } from '../../audit/domain/audit-event.js';
import { DeactivationsService } from '../../auth/deactivations.service.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { ProviderGroupsService } from '../../grants/provider-groups.service.js';
import { Clock } from '../../kernel/clock.js';
import { found, Refused } from '../../kernel/errors.js';
import { type AuthenticatedUser, type Client, sessionIdOf } from '../../platform/access.js';
import { Settings } from '../../platform/settings.js';
import { Transaction } from '../../platform/transaction.js';
import { UsersService } from '../../users/users.service.js';
import { judgeAnew } from './domain/confirmation.js';
import type { FlowPurpose } from './domain/flow.js';
import { type Link, OidcStore } from './domain/oidc-store.js';
import { personOf } from './domain/person.js';
import { pageAddress } from './domain/return-address.js';
import { type Failed, failure, OidcFlowsService, type Onward, type Returned } from './oidc-flows.service.js';
import { OidcSettings } from './oidc-settings.js';
import { PeopleService } from './people.service.js';

type Purpose = Extract<FlowPurpose, { kind: 'link' }>;

/** The console's page that shows one's own link. */
const PAGE = '/me';

/** People who have a password say which person at the provider they are, and sign in there as well. */
@Injectable()
export class OidcLinksService {
  constructor(
    private readonly settings: OidcSettings,
    private readonly platform: Settings,
    private readonly flows: OidcFlowsService,
    private readonly people: PeopleService,
    private readonly store: OidcStore,
    private readonly users: UsersService,
    private readonly sessions: SessionsService,
    private readonly groups: ProviderGroupsService,
    private readonly deactivations: DeactivationsService,
    private readonly transaction: Transaction,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** Null: there is none. @throws Refused `not_found` without a provider, or without such an account */
  async find(userId: number): Promise<Link | null> {
    this.settings.demand();
    found(await this.users.find(userId));
    return this.store.linkOf(userId);
  }

  /**
   * The way there, of who has given the password. The provider asks for a sign-in anew: a browser may be signed in there as somebody else.
   * @param cookies those that the browser has @throws Refused `already_linked`, `provider_unavailable`
   */
  async begin(user: AuthenticatedUser, cookies: ReadonlyMap<string, string>): Promise<Onward> {
    const { publicUrl } = this.settings.given;
    if ((await this.store.linkOf(user.id)) !== null) throw new Refused('already_linked');
    const purpose = { kind: 'link', userId: user.id, sessionId: sessionIdOf(user) } as const;
    const onward = await this.flows.begin(pageAddress(publicUrl, PAGE), purpose, cookies);
    if (onward === null) throw new Refused('provider_unavailable', { reason: 'discovery' });
    return onward;
  }

  /** Somebody is back. @returns null: the person is theirs */
  async finish(
    { userId, sessionId }: Purpose,
    { claims, startedAt }: Returned,
    client: Client,
  ): Promise<Failed | null> {
    const anew = judgeAnew(claims, { startedAt, now: this.clock.now() });
    const person = personOf(claims, this.settings.given);
    return this.transaction.run(async () => {
      const account = await this.sessions.accountOf({ id: sessionId, userId });
      if (account === null) return failure('session_ended', 'ended', await this.users.find(userId));
      if (anew.kind === 'refused') return failure(anew.code, anew.reason, account);
      if (person === null) return failure('subject_invalid', 'claims', account);
      if (await this.people.link(account, person, { actor: account, origin: client })) return null;
      const isTaken = (await this.store.linkOf(userId)) === null;
      return failure(isTaken ? 'person_linked' : 'already_linked', 'link', account);
    });
  }

  /** @throws Refused `not_found`; `last_way_in` where no password opens the account */
  async unlinkOwn(userId: number, by: AuditContext, client: Client): Promise<void> {
    this.settings.demand();
    const account = found(await this.users.find(userId));
    const isOpen = this.platform.auth.passwordSignInEnabled || account.role === 'admin';
    if (!isOpen || !account.hasPassword) {
      throw new Refused('last_way_in', { detail: 'The account has no password to sign in with.' });
    }
    await this.unlink(userId, by, client);
  }

  /**
   * Ends the sessions that began there, and the memberships: nobody would end them later. Without a password the account is from then on
   * whoever's comes by its name: its API tokens end as well. @throws Refused `not_found` where there is no link; `busy`
   */
  async unlink(userId: number, by: AuditContext, client: Client): Promise<void> {
    this.settings.demand();
    await this.transaction.run(async () => {
      const account = found(await this.users.find(userId));
      const { person, sessionIds } = found(await this.store.unlink(userId));
      const details = { issuer: person.issuer, subject: person.subject };
      await this.audit.record({ event: 'account_unlinked', ...by, subject: userSubject(account), details });
      await this.groups.follow(userId, [], by);
      await this.sessions.endVouched(sessionIds, 'unlink', client);
      if (!account.hasPassword) await this.deactivations.end(userId);
    });
  }
}
