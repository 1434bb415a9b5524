import { Injectable } from '@nestjs/common';
import { SessionsService } from '../../auth/sessions.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import type { AuthenticatedUser, Client } from '../../platform/access.js';
import { Transaction } from '../../platform/transaction.js';
import { UsersService } from '../../users/users.service.js';
import { judgeConfirmation } from './domain/confirmation.js';
import type { FlowPurpose } from './domain/flow.js';
import { OidcStore } from './domain/oidc-store.js';
import { personOf } from './domain/person.js';
import { pageAddress } from './domain/return-address.js';
import { type Failed, failure, OidcFlowsService, type Onward, type Returned } from './oidc-flows.service.js';
import { OidcSettings } from './oidc-settings.js';
import { providerSessionOf } from './domain/provider-session.js';
import { SealService } from './seal.service.js';

type Purpose = Extract<FlowPurpose, { kind: 'confirm' }>;

/** People prove once more who they are, where they have no password here: at the provider. */
@Injectable()
export class OidcConfirmationsService {
  constructor(
    private readonly settings: OidcSettings,
    private readonly flows: OidcFlowsService,
    private readonly store: OidcStore,
    private readonly users: UsersService,
    private readonly sessions: SessionsService,
    private readonly seal: SealService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
  ) {}

  /**
   * The way there. @param to the page to come back to @param cookies those that the browser has
   * @throws Refused `not_found` where the session did not begin at the provider; `provider_unavailable`
   */
  async begin(
    { id: userId, credential }: AuthenticatedUser,
    to: string,
    cookies: ReadonlyMap<string, string>,
  ): Promise<Onward> {
    const { issuer, publicUrl } = this.settings.given;
    const sessionId = credential.kind === 'session' && credential.provedAt !== null ? credential.id : null;
    const session = sessionId === null ? null : await this.store.sessionOf(sessionId);
    if (sessionId === null || session?.issuer !== issuer) {
      throw new Refused('not_found', { detail: 'This session did not begin at the identity provider.' });
    }
    const onward = await this.flows.begin(pageAddress(publicUrl, to), { kind: 'confirm', userId, sessionId }, cookies);
    if (onward === null) throw new Refused('provider_unavailable', { reason: 'discovery' });
    return onward;
  }

  /** Somebody is back: it counts for the session that began it, as a password does. @returns null: it is confirmed */
  async finish({ userId, sessionId }: Purpose, returned: Returned, client: Client): Promise<Failed | null> {
    const { claims, tokens, startedAt } = returned;
    const account = await this.users.find(userId);
    const atProvider = await this.store.sessionOf(sessionId);
    const person = personOf(claims, this.settings.given);
    const ownerId = person === null ? null : await this.store.accountOf(person);
    const times = { startedAt, now: this.clock.now() };
    const judgement = judgeConfirmation(claims, { userId, atProvider, ownerId }, times);
    if (judgement.kind === 'refused') return failure(judgement.code, judgement.reason, account);
    if (account === null) return failure('session_ended', 'account');
    const session = providerSessionOf(claims, this.settings.given.issuer, this.seal.sealTokens(tokens));
    if (session === null) return failure('answer_invalid', 'sid', account);
    return this.transaction.run(async () => {
      const proof = { at: judgement.at, by: 'oidc' } as const;
      const hasEnded = await this.store.hasEnded(session, userId);
      if (hasEnded || !(await this.sessions.prove(sessionId, account, proof, client))) {
        return failure('session_ended', 'ended', account);
      }
      // The provider may have begun another session of its own, whose end is to end this one.
      await this.store.keepSession(sessionId, session, this.clock.now());
      return null;
    });
  }
}
