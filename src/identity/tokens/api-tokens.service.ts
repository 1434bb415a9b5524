import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import type { AuditContext, AuditSubject } from '../../audit/domain/audit-event.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { Ids } from '../../kernel/ids.js';
import type { AuthenticatedUser } from '../../platform/http/access.js';
import { KeyedDigests } from '../../platform/settings/keyed-digests.js';
import { Settings } from '../../platform/settings/settings.js';
import { Transaction } from '../../platform/database/transaction.js';
import { UserStore } from '../../users/user.store.js';
import { ApiTokenStore } from './api-token.store.js';
import { type ApiToken, isTokenId, TOKEN_BYTES, tokenText, type WantedToken, wishProblem } from './domain/api-token.js';

/** The text of a created token is stored nowhere. */
export type TokenCreation =
  | { kind: 'created'; token: ApiToken; text: string }
  | { kind: 'too-many' | 'not-active' }
  | NonNullable<ReturnType<typeof wishProblem>>;

/** Makes, lists and revokes the API tokens of accounts. */
@Injectable()
export class ApiTokensService {
  constructor(
    private readonly store: ApiTokenStore,
    private readonly users: UserStore,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly ids: Ids,
    private readonly clock: Clock,
    private readonly digests: KeyedDigests,
    private readonly settings: Settings,
    sessions: SessionsService,
  ) {
    sessions.revokeTokens = (userId) => this.store.revokeAllOf(userId, this.clock.now());
  }

  /** @throws Refused `token_invalid` where the session has ended meanwhile */
  async create(user: AuthenticatedUser, wanted: WantedToken, by: AuditContext): Promise<TokenCreation> {
    const now = this.clock.now();
    const problem = wishProblem(wanted, user.role, { now, maxDays: this.settings.auth.tokenMaxDays });
    if (problem !== null) return problem;
    const { id, text } = tokenText(this.ids.bytes(TOKEN_BYTES));
    const token: ApiToken = { id, ...wanted, createdAt: now, lastUsedAt: null };
    return this.transaction.run(async () => {
      const kind = await this.store.add(user.id, token, this.digests.of('api-token', text));
      if (kind !== 'added') return { kind };
      // A change of the password may have held the account until now: it ends sessions, and the tokens that it finds.
      if (!(await user.isStillAdmitted())) throw new Refused('token_invalid', { reason: 'session-ended' });
      const details = { scopes: token.scopes, expires_at: token.expiresAt.toISOString() };
      await this.audit.record({ event: 'token_created', ...by, subject: tokenSubject(token), details });
      return { kind: 'created', token, text };
    });
  }

  listOf(userId: number): Promise<ApiToken[]> {
    return this.store.listOf(userId);
  }

  /** Null: there is no such account. */
  async listOfAccount(userId: number): Promise<ApiToken[] | null> {
    return (await this.users.find(userId)) === null ? null : this.listOf(userId);
  }

  /** Revokes a token from the next request on. Revoking a revoked one is no event. False: the account has no such token. */
  async revoke(userId: number, id: string, by: AuditContext): Promise<boolean> {
    if (!isTokenId(id)) return false;
    return this.transaction.run(async () => {
      const token = await this.store.revoke(userId, id, this.clock.now());
      if (token === 'unknown') return false;
      if (token === 'had-ended') return true;
      const details = { user_id: userId };
      await this.audit.record({ event: 'token_revoked', ...by, subject: tokenSubject(token), details });
      return true;
    });
  }
}

function tokenSubject({ id, name }: ApiToken): AuditSubject {
  return { type: 'token', id, name };
}
